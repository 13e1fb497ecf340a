#include "cc/core/preparer.h"

#include <algorithm>
#include <limits>

namespace gmlake {
namespace {

constexpr size_t kFewestMappings = 2;  // fewer save nobody anything
constexpr int64_t kAnyMoment = std::numeric_limits<int64_t>::max();

// A range that is to be extended must not end in a part of a block.
std::vector<BlockId> BlocksOf(const Selection& selection) {
  std::vector<BlockId> blocks;
  for (const Piece& piece : selection.pieces) blocks.push_back(piece.block);
  if (selection.missing == Bytes(0) && selection.tail.block != kNone) blocks.push_back(selection.tail.block);
  return blocks;
}

}  // namespace

std::unique_ptr<Preparation> Preparer::Begin() {
  for (Bytes request; (request = expected_.Next(memory_->ticks())) > Bytes(0);) {
    if (IsServedAlready(request)) {
      expected_.Remove(request);
      continue;
    }
    const PreparationPlan plan = Plan(request);
    if (plan.blocks.empty() || !FitsBudget(plan)) continue;
    expected_.Remove(request);
    return Begin(plan);
  }
  return nullptr;
}

std::unique_ptr<Preparation> Preparer::Begin(const PreparationPlan& plan) {
  Bytes size(0);
  for (BlockId id : plan.blocks) size += memory_->blocks[id].size;
  const StatusOr<Site> site = addresses_->Take(size, /*may_wait=*/true);
  if (!site.ok()) return nullptr;
  return std::make_unique<Preparation>(driver_, plan, Mark(plan), *site);
}

// Would the request find room without a mapping?
bool Preparer::IsServedAlready(Bytes request) {
  if (memory_->space.BestFit(request) != kNone || memory_->space.TailFit(request) != kNone) return true;
  return memory_->ranges.FindRecipe(request, kAnyMoment, /*neat=*/false) != nullptr ||
         memory_->ranges.room().FindSpot(request, /*neat=*/false).range != kNone;
}

PreparationPlan Preparer::Plan(Bytes request) const {
  const Selection selection = stitcher_.Choose(stitcher_.Survey(), request, /*fills=*/false);
  PreparationPlan plan{request, Bytes(0), selection.missing == Bytes(0), {}};
  if (!plan.complete && GrowsInstead(request, selection.missing)) return plan;
  if (!selection.pieces.empty()) plan.offset = selection.pieces.front().from;
  plan.blocks = BlocksOf(selection);
  const bool worthwhile = plan.blocks.size() >= kFewestMappings && plan.blocks.size() <= Preparation::kMostMappings;
  if (!worthwhile) plan.blocks.clear();
  return plan;
}

// A primitive range that lacks no more than a stitch would grows at its tail, and nothing is stitched.
bool Preparer::GrowsInstead(Bytes request, Bytes missing) const {
  bool grows = false;
  memory_->space.ForEachFree([&](const Chunk& chunk) {
    grows |= chunk.tail && request - chunk.size <= AlignUp(missing, memory_->blocks.granularity());
  });
  return grows;
}

bool Preparer::FitsBudget(const PreparationPlan& plan) const {
  Bytes bytes = memory_->ranges.mapped_bytes();
  for (BlockId block : plan.blocks) bytes += memory_->blocks[block].size;
  const int64_t mappings = memory_->ranges.mappings() + static_cast<int64_t>(plan.blocks.size());
  return bytes <= budget_.bytes && mappings <= budget_.mappings;
}

std::vector<RowMapping> Preparer::Mark(const PreparationPlan& plan) {
  std::vector<RowMapping> row;
  for (BlockId id : plan.blocks) {
    memory_->blocks[id].being_mapped = true;
    row.push_back({memory_->blocks[id].handle, memory_->blocks[id].size});
  }
  return row;
}

void Preparer::End(Preparation* done, int64_t number) {
  books_->Adopt(done->driver());
  for (BlockId id : done->plan().blocks) memory_->blocks[id].being_mapped = false;
  if (done->mapped()) return Publish(*done, number);
  Add(done->wreckage());
  memory_->AvoidWreckage();
  addresses_->Return(done->site());
}

// As if it had just been used, so that it is not the first to be reclaimed.
void Preparer::Publish(const Preparation& done, int64_t number) {
  const PreparationPlan& plan = done.plan();
  const RangeId id = memory_->ranges.Add(done.site().at, done.site().reserved, plan.blocks);
  memory_->ranges[id].last_use = number;
  memory_->ranges.SetPrepared(id, true);
  if (plan.complete) memory_->ranges.AddRecipe(plan.request, id, plan.offset, number);
  ++num_prepared_;
}

// Nothing was created, so no block is in doubt; only mappings and addresses are.
void Preparer::Add(const Wreckage& wreckage) {
  memory_->wreckage.ranges += wreckage.ranges;
  memory_->wreckage.mapped.insert(memory_->wreckage.mapped.end(), wreckage.mapped.begin(), wreckage.mapped.end());
}

}  // namespace gmlake
