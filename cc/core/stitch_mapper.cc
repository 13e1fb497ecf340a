#include "cc/core/stitch_mapper.h"

#include <utility>

namespace gmlake {

StatusOr<RangeId> StitchMapper::Map(const StitchPlan& plan, const GrowthInput& input) {
  StatusOr<RangeId> range = MapAtOnce(plan, input);
  memory_->AvoidWreckage();
  return range;
}

StatusOr<RangeId> StitchMapper::MapAtOnce(const StitchPlan& plan, const GrowthInput& input) {
  StatusOr<Fill> fill = PlanFill(plan.more, input);
  if (!fill.ok()) return fill.status();
  std::vector<BlockHandle> created;
  Transaction transaction(driver_, &memory_->wreckage);
  Status status = fill->sizes.empty() ? OkStatus() : grower_->Execute(*fill, &transaction, &created);
  if (!status.ok()) return status;
  const std::vector<RowMapping> row = RowOf(plan.more, *fill, created);
  StatusOr<Site> site = SiteOf(plan, SizeOf(row), &transaction);
  if (!site.ok()) return site.status();
  status = MapRow(site->at, row, &transaction);
  if (!status.ok()) return status;
  transaction.Commit();
  return Register(plan, *site, *fill, created);
}

StatusOr<Fill> StitchMapper::PlanFill(const Selection& more, const GrowthInput& input) {
  if (more.missing == Bytes(0)) return Fill();
  StatusOr<Grower::Plan> plan = grower_->Anywhere(more.missing);
  if (!plan.ok()) return plan.status();
  return grower_->PlanExact(*plan, input);
}

std::vector<RowMapping> StitchMapper::RowOf(const Selection& more, const Fill& fill,
                                            const std::vector<BlockHandle>& created) const {
  std::vector<RowMapping> row;
  row.reserve(more.pieces.size() + created.size() + 1);
  const auto add = [&](const Block& block) { row.push_back({block.handle, block.size}); };
  for (const Piece& piece : more.pieces) add(memory_->blocks[piece.block]);
  for (size_t i = 0; i < created.size(); ++i) row.push_back({created[i], fill.sizes[i]});
  if (more.tail.block != kNone) add(memory_->blocks[more.tail.block]);
  return row;
}

// Behind the last mapping of the range to be extended, or at fresh addresses.
StatusOr<Site> StitchMapper::SiteOf(const StitchPlan& plan, Bytes size, Transaction* transaction) {
  if (plan.range == kNone) return ReserveSite(size, transaction);
  const StitchedRange& range = memory_->ranges[plan.range];
  return Site{range.base + range.size, range.reserved};
}

RangeId StitchMapper::Register(const StitchPlan& plan, const Site& site, const Fill& fill,
                               const std::vector<BlockHandle>& created) {
  std::vector<BlockId> blocks;
  blocks.reserve(plan.more.pieces.size() + created.size() + 1);
  for (const Piece& piece : plan.more.pieces) blocks.push_back(piece.block);
  if (!created.empty()) {
    for (BlockId block : grower_->Register(fill, created, nullptr)) blocks.push_back(block);
  }
  if (plan.more.tail.block != kNone) blocks.push_back(plan.more.tail.block);
  if (plan.range == kNone) return memory_->ranges.Add(site.at, site.reserved, blocks);
  memory_->ranges.Extend(plan.range, blocks);
  return plan.range;
}

}  // namespace gmlake
