// A stitched range on its way, made before the request that is to need it: what is to be mapped, and the mapping
// itself, which is done without the allocator's lock.
//
// A range owns no bytes, so nothing is taken from anybody for it: its blocks may be leased, freed and stitched by
// others all the while. They only must not be released (Block::being_mapped). What was decided and what becomes of it:
// preparer.h.
#ifndef GMLAKE_CORE_PREPARATION_H_
#define GMLAKE_CORE_PREPARATION_H_

#include <utility>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/chunk.h"
#include "cc/core/counting_driver.h"
#include "cc/core/mapping_row.h"
#include "cc/driver/transaction.h"
#include "cc/telemetry/inventory_log.h"
#include "cc/telemetry/recorder.h"

namespace gmlake {

// A range to be made of `blocks`, for requests of this size.
struct PreparationPlan {
  Bytes request;
  Bytes offset;                 // where in the range the lease will begin
  bool complete = false;        // the range will serve the request; else what is missing is to be mapped at its end
  std::vector<BlockId> blocks;  // none: there is nothing to prepare
};

// Model: a plan, then a row of mappings at the site, or none. Invariant: Map touches nothing but the driver and
// this. Thread rule: one thread. Cost: 37 us per mapping.
class Preparation {
 public:
  static constexpr size_t kMostMappings = 1000;
  static_assert(3 * kMostMappings < InventoryLog::kMostCalls, "its calls, and their undoing, must fit in one log");

  // `row`: the blocks of the plan as the driver knows them; `site`: addresses for them.
  Preparation(Driver* driver, PreparationPlan plan, std::vector<RowMapping> row, const Site& site)
      : plan_(std::move(plan)), row_(std::move(row)), site_(site), driver_(driver, &log_) {}
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  // All of it or, after an error of the driver, nothing but what would not come off again.
  void Map() {
    Transaction transaction(&driver_, &wreckage_);
    if (!MapRow(site_.at, row_, &transaction).ok()) return;
    transaction.Commit();
    mapped_ = true;
  }

  const PreparationPlan& plan() const { return plan_; }
  bool mapped() const { return mapped_; }
  const Site& site() const { return site_; }
  const Wreckage& wreckage() const { return wreckage_; }
  CountingDriver* driver() { return &driver_; }

 private:
  const PreparationPlan plan_;
  const std::vector<RowMapping> row_;
  const Site site_;
  Recorder recorder_;  // off
  InventoryLog log_{&recorder_};
  CountingDriver driver_;
  Wreckage wreckage_;
  bool mapped_ = false;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_PREPARATION_H_
