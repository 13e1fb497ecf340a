#include "cc/driver/transaction.h"

#include <algorithm>

namespace gmlake {
namespace {

constexpr size_t kUsualSteps = 16;

}  // namespace

Transaction::Transaction(Driver* driver, Unreleased* unreleased) : driver_(driver), unreleased_(unreleased) {
  steps_.reserve(kUsualSteps);
  driver_->BeginRun();
}

void Transaction::Commit() {
  committed_ = true;
  driver_->EndRun();
}

Transaction::~Transaction() {
  if (committed_) return;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) Undo(*step);
  driver_->EndRun();
}

StatusOr<BlockHandle> Transaction::Create(Bytes size) {
  StatusOr<BlockHandle> block = driver_->Create(size);
  if (block.ok()) steps_.push_back({Kind::kCreate, Address(), size, *block});
  return block;
}

StatusOr<Address> Transaction::Reserve(Bytes size) {
  StatusOr<Address> address = driver_->Reserve(size);
  if (address.ok()) steps_.push_back({Kind::kReserve, *address, size, {}});
  return address;
}

Status Transaction::Map(Address address, Bytes size, BlockHandle block) {
  Status status = driver_->Map(address, size, block);
  if (status.ok()) steps_.push_back({Kind::kMap, address, size, block});
  return status;
}

Status Transaction::SetAccess(Address address, Bytes size) {
  Status status = driver_->SetAccess(address, size);
  if (status.code() != StatusCode::kNotReady) return status;
  return driver_->SetAccess(address, size);
}

void Transaction::Undo(const Step& step) {
  switch (step.kind) {
    case Kind::kCreate: return UndoCreate(step);
    case Kind::kReserve: return UndoReserve(step);
    case Kind::kMap: return UndoMap(step);
  }
}

// A block whose mapping is stuck keeps its memory whatever we do, so its handle is kept too.
void Transaction::UndoCreate(const Step& step) {
  if (!IsStuck(step.block) && driver_->Release(step.block).ok()) return;
  unreleased_->bytes += step.size;
  ++unreleased_->blocks;
}

void Transaction::UndoReserve(const Step& step) {
  const bool holds_stuck_map = std::any_of(stuck_maps_.begin(), stuck_maps_.end(), [&](const Step& map) {
    return step.address <= map.address && map.address < step.address + step.size;
  });
  if (!holds_stuck_map && driver_->FreeAddress(step.address, step.size).ok()) return;
  ++unreleased_->ranges;
}

// Fresh mappings were never given to anybody, so no queued work can touch them.
void Transaction::UndoMap(const Step& step) {
  if (driver_->Unmap(step.address, step.size).ok()) return;
  stuck_maps_.push_back(step);
  unreleased_->mapped.push_back({step.address, step.size, step.block});
}

bool Transaction::IsStuck(BlockHandle block) const {
  return std::any_of(stuck_maps_.begin(), stuck_maps_.end(),
                     [&](const Step& map) { return map.block.value == block.value; });
}

}  // namespace gmlake
