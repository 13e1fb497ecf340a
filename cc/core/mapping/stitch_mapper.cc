#include "cc/core/mapping/stitch_mapper.h"

#include <utility>

#include "cc/core/mapping/memory_transaction.h"

namespace gmlake {

StatusOr<RangeId> StitchMapper::Map(const StitchPlan& plan, const GrowthInput& input, bool may_wait) {
  GMLAKE_ASSIGN_OR_RETURN(const Site site, SiteOf(plan, may_wait));
  StatusOr<RangeId> range = MapAt(site, plan, input);
  if (!range.ok() && plan.range == kNone) addresses_->Return(site);
  return range;
}

// Where the driver has no addresses for a further primitive range, new blocks go into the holes that there are.
StatusOr<RangeId> StitchMapper::MapAt(const Site& site, const StitchPlan& plan, const GrowthInput& input) {
  const Bytes missing = plan.more.missing;
  Fill nothing;
  if (missing == Bytes(0)) return MapAtOnce(site, plan, &nothing);
  StatusOr<Fill> fill = grower_->PlanAnywhere(missing, /*scattered=*/false, input);
  if (!fill.ok()) return fill.status();
  StatusOr<RangeId> range = MapAtOnce(site, plan, &*fill);
  if (range.ok() || !fill->lacks_addresses()) return range;
  fill = grower_->PlanAnywhere(missing, /*scattered=*/true, input);
  return fill.ok() ? MapAtOnce(site, plan, &*fill) : fill.status();
}

StatusOr<RangeId> StitchMapper::MapAtOnce(const Site& site, const StitchPlan& plan, Fill* fill) {
  std::vector<BlockHandle> created;
  MemoryTransaction transaction(driver_, memory_);
  Status mapped = grower_->Execute(fill, transaction.steps(), &created);
  if (mapped.ok()) mapped = MapRow(site.at, RowOf(plan.more, *fill, created), transaction.steps());
  if (!mapped.ok()) return mapped;
  transaction.Commit();
  return Register(plan, site, std::move(*fill), created);
}

Status StitchMapper::MapRow(Address at, const std::vector<Mapping>& row, Transaction* transaction) {
  Address end = at;
  for (const Mapping& mapping : row) {
    GMLAKE_RETURN_IF_ERROR(transaction->Map(end, mapping.size, mapping.handle));
    end = end + mapping.size;
  }
  return end == at ? OkStatus() : transaction->SetAccess(at, end - at);
}

std::vector<StitchMapper::Mapping> StitchMapper::RowOf(const Selection& more, const Fill& fill,
                                                       const std::vector<BlockHandle>& created) const {
  std::vector<Mapping> row;
  row.reserve(more.pieces.size() + created.size() + 1);
  const auto add = [&](const Block& block) { row.push_back({block.handle, block.size}); };
  for (const Piece& piece : more.pieces) add(memory_->blocks[piece.block]);
  const std::vector<Bytes> sizes = SizesOf(fill);
  for (size_t i = 0; i < created.size(); ++i) row.push_back({created[i], sizes[i]});
  if (more.tail.block != kNone) add(memory_->blocks[more.tail.block]);
  return row;
}

// Behind the last mapping of the range to be extended, or at fresh addresses.
StatusOr<Site> StitchMapper::SiteOf(const StitchPlan& plan, bool may_wait) {
  if (plan.range == kNone) return addresses_->Take(MappedBytes(memory_->blocks, plan.more), may_wait);
  const StitchedRange& range = memory_->ranges[plan.range];
  return Site{range.base + range.size, range.reserved};
}

RangeId StitchMapper::Register(const StitchPlan& plan, const Site& site, Fill fill,
                               const std::vector<BlockHandle>& created) {
  std::vector<BlockId> blocks;
  blocks.reserve(plan.more.pieces.size() + created.size() + 1);
  for (const Piece& piece : plan.more.pieces) blocks.push_back(piece.block);
  if (!created.empty()) {
    for (BlockId block : grower_->Register(std::move(fill), created, nullptr)) blocks.push_back(block);
  }
  if (plan.more.tail.block != kNone) blocks.push_back(plan.more.tail.block);
  if (plan.range == kNone) return memory_->ranges.Add(site.at, site.reserved, blocks);
  memory_->ranges.Extend(plan.range, blocks);
  return plan.range;
}

}  // namespace gmlake
