// Makes stitched ranges of what is idle, before the requests that are expected to need them.
//
// A preparation begins and ends under the lock; between the two, one thread maps without it. It takes no memory of the
// device, waits for nothing, and unmaps and releases nothing; it stays within the budget of mappings. Who wants to
// release blocks, or to put the device to sleep, or is about to be refused, waits for its end (preparation_gate.h).
#ifndef GMLAKE_CORE_PREPARER_H_
#define GMLAKE_CORE_PREPARER_H_

#include <memory>

#include "cc/base/bytes.h"
#include "cc/core/address_source.h"
#include "cc/core/counting_driver.h"
#include "cc/core/expectations.h"
#include "cc/core/memory.h"
#include "cc/core/preparation.h"
#include "cc/core/reclaimer.h"
#include "cc/core/stitcher.h"
#include "cc/driver/driver.h"

namespace gmlake {

// Model: what is expected, and how much came of it. Invariant: Block::being_mapped holds for the blocks of the
// preparation under way, if there is one, and for no others. Thread rule: the allocator's lock. Cost: nothing while
// nothing is expected; else a survey of the free blocks for each size, once after each time that something came free.
class Preparer {
 public:
  // `driver`: for the calls without the lock. They are told to `books` afterwards.
  Preparer(Driver* driver, CountingDriver* books, Memory* memory, AddressSource* addresses, const ReclaimBudget& budget)
      : driver_(driver), books_(books), memory_(memory), addresses_(addresses), budget_(budget), stitcher_(memory) {}

  // `request`: a size as it is placed.
  void Expect(Bytes request) { expected_.Add(request); }
  bool idle() const { return expected_.empty(); }

  // The next that is worth making; null if none is now.
  std::unique_ptr<Preparation> Begin();
  // The range can be used from now on, unless it was not made. `number`: counts requests.
  void End(Preparation* done, int64_t number);

  int64_t num_prepared() const { return num_prepared_; }

 private:
  bool IsServedAlready(Bytes request);
  PreparationPlan Plan(Bytes request) const;
  bool GrowsInstead(Bytes request, Bytes missing) const;
  bool FitsBudget(const PreparationPlan& plan) const;
  std::unique_ptr<Preparation> Begin(const PreparationPlan& plan);
  std::vector<RowMapping> Mark(const PreparationPlan& plan);
  void Publish(const Preparation& done, int64_t number);
  void Add(const Wreckage& wreckage);

  Driver* driver_;
  CountingDriver* books_;
  Memory* memory_;
  AddressSource* addresses_;
  const ReclaimBudget budget_;
  Stitcher stitcher_;
  Expectations expected_;
  int64_t num_prepared_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_PREPARER_H_
