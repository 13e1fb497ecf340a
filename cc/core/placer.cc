#include "cc/core/placer.h"

#include <utility>

namespace gmlake {

StatusOr<Placement> Placer::Place(const Request& request) {
  const ChunkId free = memory_->space.BestFit(request.size);
  if (free != kNone) return Contiguous(free, request.size, Way::kSplit);
  Placement placement;
  if (request.may_stitch && Reuse(request, &placement)) return placement;
  Status status = order_->MayMap(request.stream);
  if (!status.ok()) return status;
  return GrowOrStitch(request);
}

ChunkId Placer::TakeContiguous(Bytes size) {
  const ChunkId free = memory_->space.BestFit(size);
  return free == kNone ? kNone : memory_->space.Take(free, Bytes(0), size);
}

ChunkId Placer::TakeFragment(Bytes size) {
  const ChunkId free = memory_->space.BestFit(size);
  return free == kNone ? kNone : memory_->space.Take(free, Bytes(0), memory_->chunks[free].size);
}

Placement Placer::Contiguous(ChunkId free, Bytes size, Way way) {
  const ChunkId chunk = memory_->space.Take(free, Bytes(0), size);
  return {chunk, memory_->chunks[chunk].address, way};
}

bool Placer::Reuse(const Request& request, Placement* placement) {
  const Recipe* recipe = memory_->ranges.FindRecipe(request.size);
  if (recipe == nullptr) return false;
  *placement = LeaseFrom(recipe->range, recipe->offset, request, Way::kReuse);
  return true;
}

StatusOr<Placement> Placer::GrowOrStitch(const Request& request) {
  StatusOr<Grower::Plan> plan = grower_.Contiguous(request.size);
  if (!plan.ok()) return plan.status();
  if (plan->deficit <= GrowthAllowance(InputOf(request))) return Grow(request, *plan);
  if (request.may_stitch) {
    const Selection selection = stitcher_.Choose(request.size);
    if (!selection.pieces.empty() && Fits(request, selection.missing)) return Stitch(request, selection);
  }
  if (Fits(request, plan->deficit)) return Grow(request, *plan);
  return Status(StatusCode::kOutOfMemory, "the limit leaves no room for " + ToString(request.size));
}

StatusOr<Placement> Placer::Grow(const Request& request, const Grower::Plan& plan) {
  const Fill fill = grower_.PlanFill(plan, InputOf(request));
  std::vector<BlockHandle> handles;
  {
    Transaction transaction(driver_, &memory_->wreckage);
    Status status = grower_.Execute(fill, &transaction, &handles);
    if (!status.ok()) return status;
    transaction.Commit();
  }
  ChunkId free = kNone;
  grower_.Register(fill, handles, &free);
  return Contiguous(free, request.size, Way::kGrow);
}

StatusOr<Placement> Placer::Stitch(const Request& request, const Selection& selection) {
  Address base;
  StatusOr<std::vector<BlockId>> blocks = MapStitch(request, selection, &base);
  if (!blocks.ok()) return blocks.status();
  Bytes size(0);
  for (BlockId block : *blocks) size += memory_->blocks[block].size;
  const Bytes offset = selection.pieces.front().from;
  const RangeId range = memory_->ranges.Add(base, size, std::move(*blocks));
  memory_->ranges.AddRecipe(request.size, range, offset);
  return LeaseFrom(range, offset, request, Way::kStitch);
}

// The driver's part of a stitch: new blocks for what is missing, then all of it mapped side by side.
StatusOr<std::vector<BlockId>> Placer::MapStitch(const Request& request, const Selection& selection,
                                                 Address* base) {
  Fill fill;
  if (selection.missing > Bytes(0)) {
    StatusOr<Grower::Plan> plan = grower_.Anywhere(AlignUp(selection.missing, memory_->blocks.granularity()));
    if (!plan.ok()) return plan.status();
    fill = grower_.PlanFill(*plan, InputOf(request));
  }
  std::vector<BlockHandle> created;
  {
    Transaction transaction(driver_, &memory_->wreckage);
    Status filled = fill.sizes.empty() ? OkStatus() : grower_.Execute(fill, &transaction, &created);
    if (!filled.ok()) return filled;
    StatusOr<Address> mapped = stitcher_.Execute(MappingsOf(selection, fill, created), &transaction);
    if (!mapped.ok()) return mapped.status();
    *base = *mapped;
    transaction.Commit();
  }
  std::vector<BlockId> blocks;
  for (const Piece& piece : selection.pieces) blocks.push_back(piece.block);
  if (!created.empty()) {
    for (BlockId block : grower_.Register(fill, created, nullptr)) blocks.push_back(block);
  }
  if (selection.tail.block != kNone) blocks.push_back(selection.tail.block);
  return blocks;
}

std::vector<Stitcher::Mapping> Placer::MappingsOf(const Selection& selection, const Fill& fill,
                                                  const std::vector<BlockHandle>& created) const {
  std::vector<Stitcher::Mapping> mappings;
  const auto add = [&](const Block& block) { mappings.push_back({block.handle, block.size}); };
  for (const Piece& piece : selection.pieces) add(memory_->blocks[piece.block]);
  for (size_t i = 0; i < created.size(); ++i) mappings.push_back({created[i], fill.sizes[i]});
  if (selection.tail.block != kNone) add(memory_->blocks[selection.tail.block]);
  return mappings;
}

Placement Placer::LeaseFrom(RangeId id, Bytes offset, const Request& request, Way way) {
  StitchedRange& range = memory_->ranges[id];
  ++range.leases;
  range.last_use = request.number;
  const Address address = range.base + offset;
  const ChunkId chunk = memory_->Take(memory_->ranges.PiecesOf(id, offset, request.size));
  memory_->chunks[chunk].range = id;
  return {chunk, address, way};
}

GrowthInput Placer::InputOf(const Request& request) const {
  return {memory_->blocks.granularity(), memory_->reserved(), request.limit, request.peak};
}

bool Placer::Fits(const Request& request, Bytes more) const {
  return memory_->reserved() + AlignUp(more, memory_->blocks.granularity()) <= request.limit;
}

}  // namespace gmlake
