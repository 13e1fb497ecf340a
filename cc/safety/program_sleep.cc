// The part of a random program that puts its device to sleep and wakes it. The program plays a framework that keeps its
// rules: nothing is launched on a sleeping device. Leases may end meanwhile, and anything may fail.
#include "cc/safety/program.h"

namespace gmlake {
namespace {

// A number for each end of each piece of a lease.
uint64_t StampOf(const Shadow::Lease& lease, size_t number) { return static_cast<uint64_t>(lease.owner) << 20 | number; }

// Calls `visit(address, stamp)` for the first and last 256 bytes of each extent.
template <typename Visit>
void ForEachPlace(const Shadow::Lease& lease, Visit visit) {
  Address at = lease.address;
  for (size_t i = 0; i < lease.extents.size(); ++i) {
    const Bytes size = lease.extents[i].size;
    visit(at, StampOf(lease, 2 * i));
    if (size > Bytes(256)) visit(at + AlignDown(size - Bytes(1), Bytes(256)), StampOf(lease, 2 * i + 1));
    at = at + size;
  }
}

}  // namespace

void Program::SleepOrWake(Operation operation) {
  if (allocator_->IsAsleep()) {
    operation.b % 4 == 0 ? ReadAsleep() : WakeUp();
  } else if (operation.b % 8 == 1) {
    FallAsleep(operation);
  }
}

// Mostly when the device is idle, as a framework would; and now and then something goes wrong on the way.
void Program::FallAsleep(Operation operation) {
  if (operation.a % 8 != 0) driver_.FinishAll();
  if (operation.c % 8 == 0) stamps_.FailCall(operation.c / 8);
  stamps_.SetHostMemory(operation.c % 16 == 1 ? MiB(300) : GiB(64));
  PutStamps();
  drowsy_ = true;
  const Status slept = allocator_->Sleep({}).status();
  drowsy_ = false;
  stamps_.FailCall(-1);
  Expect(!slept.ok() || allocator_->IsAsleep(), "a device that fell asleep is awake");
  if (!allocator_->IsAsleep()) Expect(StampsHold(), "a refused sleep lost bytes");
}

void Program::WakeUp() {
  const Status woken = allocator_->Wake().status();
  Expect(woken.ok() != allocator_->IsAsleep(), "a device that woke up is asleep, or the other way round");
  if (!woken.ok()) return;
  ++wakes_;
  shadow_.FindAgain();
  Expect(StampsHold(), "a lease has other bytes than before it slept");
}

void Program::PutStamps() {
  for (const Shadow::Lease& lease : shadow_.leases()) {
    ForEachPlace(lease, [this](Address address, uint64_t stamp) { stamps_.Put(address, stamp); });
  }
}

bool Program::StampsHold() {
  bool hold = true;
  for (const Shadow::Lease& lease : shadow_.leases()) {
    ForEachPlace(lease, [&](Address address, uint64_t stamp) { hold = hold && stamps_.IsAt(address, stamp); });
  }
  return hold;
}

// What a lease holds can be read while it sleeps.
void Program::ReadAsleep() {
  for (const Shadow::Lease& lease : shadow_.leases()) {
    uint64_t found = 0;
    if (lease.size < Bytes(sizeof(found))) continue;
    const bool read = allocator_->ReadAsleep(lease.address, Bytes(sizeof(found)), reinterpret_cast<char*>(&found));
    Expect(read && found == StampOf(lease, 0), "a sleeping lease does not read as it was");
  }
}

}  // namespace gmlake
