#include "cc/core/mapping/grower.h"

#include <algorithm>
#include <utility>

#include "cc/core/mapping/memory_transaction.h"
#include "cc/core/mapping/reservation.h"

namespace gmlake {
namespace {

Status NoAddresses() { return Status(StatusCode::kOutOfMemory, "no addresses are left to grow at"); }

}  // namespace

std::vector<Bytes> SizesOf(const Fill& fill) {
  std::vector<Bytes> sizes;
  for (const Fill::Part& part : fill.parts) sizes.insert(sizes.end(), part.sizes.begin(), part.sizes.end());
  return sizes;
}

StatusOr<Grower::Plan> Grower::Contiguous(Bytes request) const {
  return FindHole(request, [&](ChunkId hole) { return request - FreeBefore(hole); });
}

// The first hole with room for what would be missing there; if there is none, a new range.
template <typename Missing>
StatusOr<Grower::Plan> Grower::FindHole(Bytes size, Missing missing) const {
  for (ChunkId hole : memory_->space.holes()) {
    const Bytes deficit = missing(hole);
    if (AlignUp(deficit, memory_->blocks.granularity()) <= memory_->chunks[hole].size) return Plan{hole, deficit};
  }
  if (!MayReserveRange(size)) return NoAddresses();
  return Plan{kNone, size};
}

bool Grower::MayReserveRange(Bytes at_least) const {
  const Bytes after = memory_->blocks.address_bytes() + at_least;
  return memory_->blocks.ranges().empty() || after <= memory_->range_size.budget / 2;
}

Fill Grower::PlanFill(const Plan& plan, const GrowthInput& input) const {
  return FillOf(plan, GrowthAmount(input, plan.deficit), input);
}

// Rather than refuse, beyond the budget of addresses.
StatusOr<Fill> Grower::PlanAnywhere(Bytes size, bool scattered, const GrowthInput& input) const {
  if (scattered) return PlanScattered(size, input);
  const StatusOr<Plan> plan = FindHole(size, [&](ChunkId) { return size; });
  if (plan.ok()) return FillOf(*plan, plan->deficit, input);
  StatusOr<Fill> holes = PlanScattered(size, input);
  return holes.ok() ? holes : FillOf({kNone, size}, size, input);
}

// The lowest holes, each filled to its end.
StatusOr<Fill> Grower::PlanScattered(Bytes size, const GrowthInput& input) const {
  Fill fill;
  for (ChunkId hole : memory_->space.holes()) {
    if (size <= Bytes(0)) break;
    fill.parts.push_back(PartIn(hole, size, input));
    size -= fill.parts.back().size;
  }
  if (size > Bytes(0)) return NoAddresses();
  return fill;
}

Fill Grower::FillOf(const Plan& plan, Bytes amount, const GrowthInput& input) const {
  return {{PartIn(plan.hole, amount, input)}};
}

Fill::Part Grower::PartIn(ChunkId hole, Bytes amount, const GrowthInput& input) const {
  const Bytes size = hole == kNone ? amount : std::min(amount, memory_->chunks[hole].size);
  return {hole, hole == kNone ? Address() : memory_->chunks[hole].address, AlignUp(size, input.granularity),
          BlockSizes(size, LargestBlock(input), input.granularity)};
}

Status Grower::Create(Fill* fill, ChunkId* chunk) {
  std::vector<BlockHandle> handles;
  MemoryTransaction transaction(driver_, memory_);
  GMLAKE_RETURN_IF_ERROR(Execute(fill, transaction.steps(), &handles));
  transaction.Commit();
  Register(*fill, handles, chunk);
  return OkStatus();
}

Status Grower::Execute(Fill* fill, Transaction* transaction, std::vector<BlockHandle>* handles) {
  Status status = fill->needs_range() ? ReserveRange(fill, transaction) : OkStatus();
  for (auto part = fill->parts.begin(); status.ok() && part != fill->parts.end(); ++part) {
    status = ExecutePart(*part, transaction, handles);
  }
  return status;
}

Status Grower::ExecutePart(const Fill::Part& part, Transaction* transaction, std::vector<BlockHandle>* handles) {
  Address at = part.at;
  for (Bytes size : part.sizes) {
    GMLAKE_ASSIGN_OR_RETURN(BlockHandle block, transaction->Create(size));
    GMLAKE_RETURN_IF_ERROR(transaction->Map(at, size, block));
    handles->push_back(block);
    at = at + size;
  }
  return transaction->SetAccess(part.at, part.size);
}

// The driver may put ranges next to each other. A last granule that is never mapped keeps apart what lies in two of
// them.
Status Grower::ReserveRange(Fill* fill, Transaction* transaction) const {
  const Bytes least = fill->parts.front().size + memory_->blocks.granularity();
  const Bytes most = std::max(least, AddressesLeft(*memory_));
  const auto reserve = [transaction](Bytes size) { return transaction->Reserve(size); };
  GMLAKE_ASSIGN_OR_RETURN(const Span span, ReserveSpan(driver_, memory_->range_size, least, most, reserve));
  fill->reserved = span;
  fill->parts.front().at = span.base;
  return OkStatus();
}

std::vector<BlockId> Grower::Register(Fill fill, const std::vector<BlockHandle>& handles, ChunkId* chunk) {
  if (fill.needs_range()) RegisterRange(&fill);
  std::vector<BlockId> blocks;
  for (const Fill::Part& part : fill.parts) {
    const ChunkId settled = RegisterPart(part, &handles[blocks.size()], &blocks);
    if (chunk != nullptr) *chunk = settled;
  }
  return blocks;
}

void Grower::RegisterRange(Fill* fill) {
  const Bytes size = fill->reserved.size - memory_->blocks.granularity();
  memory_->blocks.AddRange(fill->reserved.base, size);
  fill->parts.front().hole = memory_->space.AddRegion(fill->reserved.base, size, ChunkState::kHole);
}

// The free chunk that includes the new blocks.
ChunkId Grower::RegisterPart(const Fill::Part& part, const BlockHandle* handles, std::vector<BlockId>* blocks) {
  const ChunkId opened = memory_->space.Populate(part.hole, part.at - memory_->chunks[part.hole].address, part.size);
  Address at = part.at;
  for (Bytes size : part.sizes) {
    blocks->push_back(memory_->blocks.Add(*handles++, at, size));
    at = at + size;
  }
  return memory_->space.FinishPopulate(opened);
}

Bytes Grower::FreeBefore(ChunkId hole) const {
  const ChunkId previous = memory_->chunks[hole].previous;
  if (previous == kNone || memory_->chunks[previous].state != ChunkState::kFree) return Bytes(0);
  return memory_->chunks[previous].size;
}

}  // namespace gmlake
