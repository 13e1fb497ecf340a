// Churn on a device, with every byte watched: each lease is painted with its owner's pattern through the address that
// it was given, and compared just before it is freed, through another address of the same physical memory.
//
// Nothing waits in between: painting, comparing and the next owner's painting are queued on several streams, so memory
// changes hands while earlier work is still to run. Runs on GPUs (pattern_churn_main.cc) and on the emulated device
// (pattern_churn_test.cc).
#ifndef GMLAKE_SAFETY_PATTERN_CHURN_H_
#define GMLAKE_SAFETY_PATTERN_CHURN_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/core/allocator.h"
#include "cc/driver/testing/pattern_writer.h"
#include "cc/safety/audit_driver.h"

namespace gmlake {

struct PatternChurnOptions {
  Bytes limit = GiB(4);
  int64_t operations = INT64_MAX;  // ends after so many, or after so long
  double seconds = 1e9;
  uint64_t seed = 1;
  int streams = 4;
  bool misuse = false;  // now and then a live lease is painted by somebody else: must be found
};

struct PatternChurnReport {
  int64_t operations = 0;
  int64_t refused = 0;  // requests that did not fit
  int64_t retired_streams = 0;
  int64_t replays = 0;     // of graphs that paint a lease
  Bytes painted, checked;  // checked: through an address that the allocator does not know
  Bytes checked_shared;    // of these: bytes for which the allocator itself had more than one address
  int64_t wrong_words = 0;
  double seconds = 0;
  std::string broken;  // what CheckInvariants said
  AllocatorStats stats;
};

// Model: leases, each last touched by work on one stream; the streams; phases that fill and empty the device. A second
// thread maintains and reads statistics all the while. Thread rule: one thread, that which made `ink`.
class PatternChurn {
 public:
  // All outlive it. `driver` is that of the device of `ink`.
  PatternChurn(Driver* driver, PatternWriter* ink, PatternChurnOptions options);

  // An error: a call that must not fail has failed. Wrong words are no error, but reported.
  StatusOr<PatternChurnReport> Run();

 private:
  struct Lease {
    Address address;
    Bytes size;
    uint32_t owner;
    size_t stream;      // whose work touched it last
    GraphHandle graph;  // paints it, or null
  };

  bool IsOver() const;
  double Seconds() const;
  uint64_t Random(uint64_t below) { return random_() % below; }
  Bytes RandomSize();
  Bytes LogUniform(Bytes from, Bytes to);
  Status Step();
  Status Interfere();
  Status Get();
  Status Paint(Lease* lease);
  Status PaintByGraph(Lease* lease);
  Status Replay();
  Status Drop(size_t index);
  Status CheckAndFree(const Lease& lease, size_t stream);
  Status Misuse();
  Status RetireStream(size_t stream);
  // `later` waits for what is queued on `earlier`.
  Status Order(size_t later, size_t earlier);
  Status Pause();
  Status Finish();

  Driver* const driver_;
  PatternWriter* const ink_;
  const PatternChurnOptions options_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mt19937_64 random_;
  AuditDriver audit_;
  Allocator allocator_;
  std::vector<StreamHandle> streams_;
  std::vector<Bytes> usual_sizes_;
  std::vector<Lease> leases_;
  uint64_t filling_ = 50;  // per cent of the steps that allocate, for now
  uint32_t next_owner_ = 1;
  PatternChurnReport report_;
};

// One line of JSON.
std::string ToJson(const PatternChurnReport& report);

}  // namespace gmlake

#endif  // GMLAKE_SAFETY_PATTERN_CHURN_H_
