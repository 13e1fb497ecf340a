#include "cc/core/grower.h"

#include <algorithm>

namespace gmlake {
StatusOr<Grower::Plan> Grower::Contiguous(Bytes request) {
  return FindHole(request, [&](ChunkId hole) { return request - FreeBefore(hole); });
}

StatusOr<Grower::Plan> Grower::Anywhere(Bytes size) {
  return FindHole(size, [&](ChunkId) { return size; });
}

// The first hole with room for what would be missing there; if there is none, one that is reserved for it.
template <typename Missing>
StatusOr<Grower::Plan> Grower::FindHole(Bytes size, Missing missing) {
  for (ChunkId hole : memory_->space.holes()) {
    const Bytes deficit = missing(hole);
    if (AlignUp(deficit, memory_->blocks.granularity()) <= memory_->chunks[hole].size) return Plan{hole, deficit};
  }
  StatusOr<ChunkId> reserved = ReserveRange(size);
  if (!reserved.ok()) return reserved.status();
  return Plan{*reserved, size};
}

Fill Grower::PlanFill(const Plan& plan, const GrowthInput& input) const {
  return FillOf(plan, GrowthAmount(input, plan.deficit), input);
}

Fill Grower::PlanExact(const Plan& plan, const GrowthInput& input) const { return FillOf(plan, plan.deficit, input); }

Fill Grower::FillOf(const Plan& plan, Bytes amount, const GrowthInput& input) const {
  const Chunk& hole = memory_->chunks[plan.hole];
  const Bytes size = std::min(amount, hole.size);
  return {plan.hole, hole.address, AlignUp(size, input.granularity),
          BlockSizes(size, LargestBlock(input), input.granularity)};
}

Status Grower::Create(const Fill& fill, ChunkId* chunk) {
  Status status = CreateAtOnce(fill, chunk);
  memory_->AvoidWreckage();
  return status;
}

Status Grower::CreateAtOnce(const Fill& fill, ChunkId* chunk) {
  std::vector<BlockHandle> handles;
  Transaction transaction(driver_, &memory_->wreckage);
  Status status = Execute(fill, &transaction, &handles);
  if (!status.ok()) return status;
  transaction.Commit();
  Register(fill, handles, chunk);
  return OkStatus();
}

Status Grower::Execute(const Fill& fill, Transaction* transaction, std::vector<BlockHandle>* handles) {
  Address at = fill.at;
  for (Bytes size : fill.sizes) {
    StatusOr<BlockHandle> block = transaction->Create(size);
    if (!block.ok()) return block.status();
    Status mapped = transaction->Map(at, size, *block);
    if (!mapped.ok()) return mapped;
    handles->push_back(*block);
    at = at + size;
  }
  return transaction->SetAccess(fill.at, fill.size);
}

std::vector<BlockId> Grower::Register(const Fill& fill, const std::vector<BlockHandle>& handles, ChunkId* chunk) {
  const ChunkId opened = memory_->space.Open(fill.hole, fill.at - memory_->chunks[fill.hole].address, fill.size);
  std::vector<BlockId> blocks;
  Address at = fill.at;
  for (size_t i = 0; i < fill.sizes.size(); ++i) {
    blocks.push_back(memory_->blocks.Add(handles[i], at, fill.sizes[i]));
    at = at + fill.sizes[i];
  }
  const ChunkId settled = memory_->space.Settle(opened);
  if (chunk != nullptr) *chunk = settled;
  return blocks;
}

// The driver may put ranges next to each other. A last granule that is never mapped keeps apart what lies in two of
// them.
StatusOr<ChunkId> Grower::ReserveRange(Bytes at_least) {
  StatusOr<DeviceMemory> device = driver_->QueryMemory();
  const Bytes total = device.ok() ? device->total : Bytes(0);
  const Bytes granularity = memory_->blocks.granularity();
  const Bytes least = AlignUp(std::max(at_least, memory_->range_size.least), granularity);
  Bytes size = std::max(least, AlignUp(total * memory_->range_size.per_total, granularity));
  StatusOr<Address> base = driver_->Reserve(size + granularity);
  while (!base.ok() && size > least) {
    size = std::max(least, AlignUp(size / 2, granularity));
    base = driver_->Reserve(size + granularity);
  }
  if (!base.ok()) return base.status();
  memory_->blocks.AddRange(*base, size);
  return memory_->space.AddRegion(*base, size, ChunkState::kHole);
}

Bytes Grower::FreeBefore(ChunkId hole) const {
  const ChunkId previous = memory_->chunks[hole].previous;
  if (previous == kNone || memory_->chunks[previous].state != ChunkState::kFree) return Bytes(0);
  return memory_->chunks[previous].size;
}

}  // namespace gmlake
