// Carries out a stitch plan: new blocks for what is missing, then everything mapped side by side, as one transaction.
#ifndef GMLAKE_CORE_MAPPING_STITCH_MAPPER_H_
#define GMLAKE_CORE_MAPPING_STITCH_MAPPER_H_

#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/mapping/address_source.h"
#include "cc/core/mapping/grower.h"
#include "cc/core/policy/growth_policy.h"
#include "cc/core/policy/stitch_plan.h"
#include "cc/core/ranges/memory.h"
#include "cc/driver/driver.h"
#include "cc/driver/transaction.h"

namespace gmlake {

// Thread rule: the allocator's lock. Cost: 37 us per mapping, one SetAccess for all of them.
class StitchMapper {
 public:
  StitchMapper(Driver* driver, Memory* memory, Grower* grower, AddressSource* addresses)
      : driver_(driver), memory_(memory), grower_(grower), addresses_(addresses) {}

  // The range in which the request now fits at `plan.offset`. On failure driver and tables are as before, but for idle
  // ranges that were unmapped for their addresses. `may_wait`: as in AddressSource::Take.
  StatusOr<RangeId> Map(const StitchPlan& plan, const GrowthInput& input, bool may_wait);

 private:
  struct Mapping {
    BlockHandle handle;
    Bytes size;
  };

  StatusOr<RangeId> MapAt(const Site& site, const StitchPlan& plan, const GrowthInput& input);
  StatusOr<RangeId> MapAtOnce(const Site& site, const StitchPlan& plan, Fill* fill);
  // What is to be mapped, in address order.
  std::vector<Mapping> RowOf(const Selection& more, const Fill& fill, const std::vector<BlockHandle>& created) const;
  // One after the other from `at` on, and opened by one call.
  static Status MapRow(Address at, const std::vector<Mapping>& row, Transaction* transaction);
  StatusOr<Site> SiteOf(const StitchPlan& plan, bool may_wait);
  RangeId Register(const StitchPlan& plan, const Site& site, Fill fill, const std::vector<BlockHandle>& created);

  Driver* driver_;
  Memory* memory_;
  Grower* grower_;
  AddressSource* addresses_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_MAPPING_STITCH_MAPPER_H_
