#include "cc/core/stitch_plan.h"

#include <utility>

namespace gmlake {

StitchPlan StitchPlanner::Plan(Bytes request) const {
  Stitcher::Offer offer = stitcher_.Survey();
  const StitchPlan fresh = InNewRange(offer, request);
  const Run run = LongestRun(request);
  if (run.range == kNone) return fresh;
  const StitchPlan extended = InRange(std::move(offer), run, request);
  if (extended.more.missing > fresh.more.missing || !HasRoom(extended)) return fresh;
  return extended.mappings() <= fresh.mappings() ? extended : fresh;
}

StitchPlan StitchPlanner::InNewRange(const Stitcher::Offer& offer, Bytes request) const {
  StitchPlan plan;
  plan.more = stitcher_.Choose(offer, request);
  if (!plan.more.pieces.empty()) plan.offset = plan.more.pieces.front().from;
  return plan;
}

StitchPlan StitchPlanner::InRange(Stitcher::Offer offer, const Run& run, Bytes request) const {
  StitchPlan plan;
  plan.range = run.range;
  plan.offset = run.offset;
  const std::vector<BlockId>& blocks = memory_->ranges[run.range].blocks;
  plan.kept.assign(blocks.begin() + static_cast<std::ptrdiff_t>(run.first_block), blocks.end());
  if (run.size == request) return plan;
  plan.more = stitcher_.Choose(stitcher_.Behind(run.range, std::move(offer)), request - run.size);
  return plan;
}

Run StitchPlanner::LongestRun(Bytes request) const {
  Run longest;
  memory_->ranges.ForEach([&](RangeId id) {
    if (memory_->ranges[id].sealed || memory_->ranges[id].size <= longest.size) return;
    const Run run = memory_->ranges.LastRun(id, request);
    if (run.size > longest.size) longest = run;
  });
  return longest;
}

bool StitchPlanner::HasRoom(const StitchPlan& plan) const {
  Bytes added = AlignUp(plan.more.missing, memory_->blocks.granularity());
  for (const Piece& piece : plan.more.pieces) added += memory_->blocks[piece.block].size;
  if (plan.more.tail.block != kNone) added += memory_->blocks[plan.more.tail.block].size;
  const StitchedRange& range = memory_->ranges[plan.range];
  return range.size + added <= range.reserved;
}

}  // namespace gmlake
