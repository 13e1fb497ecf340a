// What an observer outside the allocator knows: which leases live, which physical bytes each reaches, who used them.
//
// It sees the allocator through its public interface and the device through the fake driver's mappings, and nothing of
// how requests are served. After every step of a test, Check() says which of the eight invariants of
// docs/reliability.md does not hold.
#ifndef GMLAKE_SAFETY_SHADOW_H_
#define GMLAKE_SAFETY_SHADOW_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/allocator.h"
#include "cc/driver/fake_driver.h"

namespace gmlake {

// Model: live leases with the extents they had when they were handed out, and an interval map from physical bytes to
// owners. Not thread-safe. Cost of Check: one walk of the leases when a mapping changed, one CheckInvariants.
class Shadow {
 public:
  struct Lease {
    Address address;
    Bytes size;                         // as requested
    int64_t owner = 0;                  // unique over the shadow's life
    std::vector<StreamHandle> streams;  // that used it, the first one included
    std::vector<FakeDriver::Extent> extents;
  };

  Shadow(FakeDriver* driver, Allocator* allocator) : driver_(driver), allocator_(allocator) {}

  // A request was granted: the lease begins, and its bytes must be nobody else's.
  void Begin(Address address, Bytes size, StreamHandle stream);
  // It was freed and forgotten.
  void End(size_t index);
  void Refused() { ++refused_; }
  // The device slept: every lease has other physical bytes under its address now.
  void FindAgain();

  std::vector<Lease>& leases() { return leases_; }
  Lease& operator[](size_t index) { return leases_[index]; }
  Bytes requested() const { return requested_; }

  // The first thing that is wrong, or nothing.
  std::string Check();

 private:
  using Place = std::pair<uint64_t, int64_t>;  // physical block, offset
  struct Hold {
    int64_t end;
    int64_t owner;
  };

  void Claim(const Lease& lease);
  std::string CheckMappings();
  std::string CheckStats() const;
  std::string CheckCounts(const AllocatorStats& stats) const;
  std::string CheckPeaks(const AllocatorStats& stats) const;
  std::string CheckBytes(const AllocatorStats& stats) const;

  FakeDriver* driver_;
  Allocator* allocator_;
  std::vector<Lease> leases_;
  std::map<Place, Hold> holds_;
  Bytes requested_;
  int64_t granted_ = 0;
  int64_t ended_ = 0;
  int64_t refused_ = 0;
  int64_t checked_changes_ = 0;
  std::string problem_;  // found while a lease began
};

}  // namespace gmlake

#endif  // GMLAKE_SAFETY_SHADOW_H_
