// The part of a random program that puts its device to sleep and wakes it. The program plays a framework that keeps its
// rules: nothing is launched on a sleeping device. Leases may end meanwhile, and anything may fail.
#include "cc/safety/program.h"

namespace gmlake {
namespace {

constexpr int32_t kUnwanted = 1;

// A number for each end of each piece of a lease.
uint64_t StampOf(const Shadow::Lease& lease, size_t number) {
  return static_cast<uint64_t>(lease.owner) << 20 | number;
}

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
  const SleepRequest request = DropSome(operation);
  drowsy_ = true;
  const Status slept = allocator_->Sleep(request).status();
  drowsy_ = false;
  stamps_.FailCall(-1);
  Expect(!slept.ok() || allocator_->IsAsleep(), "a device that fell asleep is awake");
  if (allocator_->IsAsleep()) return;
  dropped_.clear();
  Expect(StampsHold(), "a refused sleep lost bytes");
}

// Nobody wants the contents of what is tagged, if this sleep says so.
SleepRequest Program::DropSome(Operation operation) {
  SleepRequest request;
  dropped_.clear();
  if (operation.a / 8 % 4 != 2 || shadow_.leases().empty()) return request;
  const Shadow::Lease& lease = shadow_[operation.a % shadow_.leases().size()];
  Expect(allocator_->Tag(lease.address, kUnwanted), "a live lease cannot be tagged");
  tagged_.insert(lease.owner);
  dropped_ = tagged_;
  request.dropped_tags = {kUnwanted};
  return request;
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
    if (dropped_.count(lease.owner) != 0) continue;
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
    const uint64_t expected = dropped_.count(lease.owner) != 0 ? 0 : StampOf(lease, 0);
    Expect(read && found == expected, "a sleeping lease does not read as it was");
  }
}

}  // namespace gmlake
