#include "cc/core/policy/stitch_plan.h"

#include <utility>

namespace gmlake {

Bytes MappedBytes(const BlockTable& blocks, const Selection& more) {
  Bytes mapped = AlignUp(more.missing, blocks.granularity());
  for (const Piece& piece : more.pieces) mapped += blocks[piece.block].size;
  if (more.tail.block != kNone) mapped += blocks[more.tail.block].size;
  return mapped;
}

StitchPlan StitchPlanner::Plan(Bytes request, bool is_near) {
  Stitcher::Offer offer = stitcher_.Survey();
  const bool fills = is_near && stitcher_.HasOpenGranules(offer);
  const StitchPlan fresh = InNewRange(offer, request, fills);
  const Run run = memory_->ranges.room().LongestRun(request);
  if (run.range == kNone) return fresh;
  const StitchPlan extended = InRange(std::move(offer), run, request, fills);
  const bool fits = extended.more.missing <= fresh.more.missing && HasRoom(extended);
  const Bytes more = fills ? WholeGranules(extended, request) - WholeGranules(fresh, request) : Bytes(0);
  return fits && IsBetter(extended, fresh, more) ? extended : fresh;
}

// `more`: whole granules that it takes beyond those of the other.
bool StitchPlanner::IsBetter(const StitchPlan& plan, const StitchPlan& other, Bytes more) {
  return more == Bytes(0) ? plan.mappings() <= other.mappings() : more < Bytes(0);
}

StitchPlan StitchPlanner::InNewRange(const Stitcher::Offer& offer, Bytes request, bool fills) const {
  StitchPlan plan;
  plan.more = stitcher_.Choose(offer, request, fills);
  if (!plan.more.pieces.empty()) plan.offset = plan.more.pieces.front().from;
  return plan;
}

StitchPlan StitchPlanner::InRange(Stitcher::Offer offer, const Run& run, Bytes request, bool fills) const {
  StitchPlan plan;
  plan.range = run.range;
  plan.offset = run.offset;
  const StitchedRange& range = memory_->ranges[run.range];
  plan.kept.assign(range.blocks.begin() + static_cast<std::ptrdiff_t>(run.first_block), range.blocks.end());
  if (run.size == request) return plan;
  plan.more = stitcher_.Choose(stitcher_.Behind(run.range, std::move(offer)), request - run.size, fills);
  return plan;
}

// What the plan takes beside the free ends of blocks in use.
Bytes StitchPlanner::WholeGranules(const StitchPlan& plan, Bytes request) const {
  const auto of_end = [this](const Piece& piece) { return memory_->IsFree(piece.block) ? Bytes(0) : piece.size(); };
  Bytes ends(0);
  if (!plan.kept.empty()) {
    const StitchedRange& range = memory_->ranges[plan.range];
    const Bytes end = range.ends[range.IndexAt(plan.offset)];
    ends += of_end({plan.kept.front(), plan.offset, end});
  }
  if (!plan.more.pieces.empty()) ends += of_end(plan.more.pieces.front());
  if (plan.more.tail.block != kNone) ends += of_end(plan.more.tail);
  return AlignUp(request - ends, memory_->blocks.granularity());
}

bool StitchPlanner::HasRoom(const StitchPlan& plan) const {
  const StitchedRange& range = memory_->ranges[plan.range];
  return range.size + MappedBytes(memory_->blocks, plan.more) <= range.reserved;
}

}  // namespace gmlake
