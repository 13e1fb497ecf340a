// A multi-step driver operation that happens wholly or not at all.
//
// Each step that succeeds leaves its opposite on the undo list. Commit() drops the list; without it the destructor
// walks the list backwards. What the driver refuses to take back is handed to the `Unreleased` the caller passed in,
// and the caller quarantines it. Nothing here knows why blocks are mapped: that is cc/core.
#ifndef GMLAKE_DRIVER_TRANSACTION_H_
#define GMLAKE_DRIVER_TRANSACTION_H_

#include <vector>

#include "cc/driver/driver.h"

namespace gmlake {

// What could not be undone: held by the driver, of no more use to us.
struct Unreleased {
  // A mapping that would not come off. Nothing must be mapped at these addresses again, and releasing the block would
  // not give its memory back.
  struct Place {
    Address address;
    Bytes size;
    BlockHandle block;
  };

  Bytes bytes;         // physical memory still held
  int64_t blocks = 0;  // handles still held
  int64_t ranges = 0;  // reservations that could not be freed
  std::vector<Place> mapped;
};

// Model: a list of done steps, newest last; one run of the driver until it is committed or undone. Invariant: every
// entry was acknowledged by the driver and not yet undone. Thread rule: one thread. Cost: the driver calls themselves.
class Transaction {
 public:
  Transaction(Driver* driver, Unreleased* unreleased);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  StatusOr<BlockHandle> Create(Bytes size);
  StatusOr<Address> Reserve(Bytes size);
  Status Map(Address address, Bytes size, BlockHandle block);
  // CUDA documents NOT_READY here as transient, so it is tried once more.
  Status SetAccess(Address address, Bytes size);
  void Commit();

 private:
  enum class Kind { kCreate, kReserve, kMap };
  struct Step {
    Kind kind;
    Address address;
    Bytes size;
    BlockHandle block;
  };

  void Undo(const Step& step);
  void UndoCreate(const Step& step);
  void UndoReserve(const Step& step);
  void UndoMap(const Step& step);
  bool IsStuck(BlockHandle block) const;

  Driver* driver_;
  Unreleased* unreleased_;
  bool committed_ = false;
  std::vector<Step> steps_;
  std::vector<Step> stuck_maps_;  // mappings that would not come off: their block and range must stay
};

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_TRANSACTION_H_
