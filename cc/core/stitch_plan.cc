#include "cc/core/stitch_plan.h"

namespace gmlake {

StitchPlan StitchPlanner::Plan(Bytes request) const {
  const Stitcher::Offer offer = stitcher_.Survey();
  const StitchPlan fresh = InNewRange(offer, request);
  const Run run = LongestRun(request);
  if (run.range == kNone) return fresh;
  const StitchPlan extended = InRange(offer, run, request);
  if (extended.more.missing > fresh.more.missing || !HasRoom(extended)) return fresh;
  return extended.mappings() <= fresh.mappings() ? extended : fresh;
}

StitchPlan StitchPlanner::InNewRange(const Stitcher::Offer& offer, Bytes request) const {
  StitchPlan plan;
  plan.more = stitcher_.Choose(offer, request);
  if (!plan.more.pieces.empty()) plan.offset = plan.more.pieces.front().from;
  return plan;
}

StitchPlan StitchPlanner::InRange(const Stitcher::Offer& offer, const Run& run, Bytes request) const {
  StitchPlan plan;
  plan.range = run.range;
  plan.offset = run.offset;
  const std::vector<BlockId>& blocks = memory_->ranges[run.range].blocks;
  plan.kept.assign(blocks.begin() + static_cast<std::ptrdiff_t>(run.first_block), blocks.end());
  if (run.size < request) plan.more = stitcher_.Choose(offer.BehindBlocks(blocks), request - run.size);
  return plan;
}

StitchPlanner::Run StitchPlanner::LongestRun(Bytes request) const {
  Run longest;
  memory_->ranges.ForEach([&](RangeId id) {
    if (memory_->ranges[id].sealed || memory_->ranges[id].size <= longest.size) return;
    const Run run = RunOf(memory_->ranges.LastExtent(id), request);
    if (run.size > longest.size) longest = run;
  });
  return longest;
}

// Takes blocks from the range's end for as long as they fit.
StitchPlanner::Run StitchPlanner::RunOf(const Extent& extent, Bytes request) const {
  const StitchedRange& range = memory_->ranges[extent.range];
  Run run{extent.range, range.size, Bytes(0), range.blocks.size()};
  while (run.first_block > extent.first_block) {
    const bool first = run.first_block - 1 == extent.first_block;
    const Bytes block = memory_->blocks[range.blocks[run.first_block - 1]].size;
    const Bytes piece = first ? extent.size - run.size : block;
    if (run.size + piece > request) break;
    run.size += piece;
    --run.first_block;
  }
  run.offset = range.size - run.size;
  return run;
}

bool StitchPlanner::HasRoom(const StitchPlan& plan) const {
  Bytes added = AlignUp(plan.more.missing, memory_->blocks.granularity());
  for (const Piece& piece : plan.more.pieces) added += memory_->blocks[piece.block].size;
  if (plan.more.tail.block != kNone) added += memory_->blocks[plan.more.tail.block].size;
  const StitchedRange& range = memory_->ranges[plan.range];
  return range.size + added <= range.reserved;
}

}  // namespace gmlake
