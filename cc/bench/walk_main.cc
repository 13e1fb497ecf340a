// Shows the allocator's state after each step of a short script: the figures of docs/placement.md are drawn from it.
//
//   walk_main --limit=BYTES STEP...     a step is +NAME:BYTES (a request), -NAME (a free) or ?TITLE (show)
//
// Prints a line of JSON for each ?TITLE: the blocks with their homes, the stitched ranges with their blocks, the leases
// with the way they were served, and the driver calls so far. The driver is the modelled one.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "cc/core/allocator.h"
#include "cc/driver/model_driver.h"

namespace gmlake::bench {
namespace {

const StreamHandle kStream{};

class Walk {
 public:
  explicit Walk(Bytes limit) : driver_(limit), allocator_(&driver_, AllocatorOptions{limit}) {}

  bool Take(const std::string& step) {
    if (step.empty()) return false;
    const std::string rest = step.substr(1);
    switch (step[0]) {
      case '+': return Request(rest);
      case '-': return allocator_.Free(leases_.at(rest), kStream);
      case '?': return Show(rest), true;
      default: return false;
    }
  }

 private:
  bool Request(const std::string& name_and_size) {
    const size_t colon = name_and_size.find(':');
    if (colon == std::string::npos) return false;
    const Bytes size(std::atoll(name_and_size.c_str() + colon + 1));
    const StatusOr<Address> address = allocator_.Allocate(size, kStream);
    if (address.ok()) leases_[name_and_size.substr(0, colon)] = *address;
    return address.ok();
  }

  void Show(const std::string& title) {
    const Snapshot snapshot = allocator_.TakeSnapshot();
    std::printf("{\"title\": \"%s\", \"ranges\": [", title.c_str());
    const char* comma = "";
    for (const RangeRow& range : snapshot.ranges) {
      std::printf("%s{\"id\": %d, \"stitched\": %d, \"address\": %llu}", comma, range.id, range.is_stitched,
                  static_cast<unsigned long long>(range.address));
      comma = ", ";
    }
    ShowMappings(snapshot);
    ShowLeases(snapshot);
    std::printf("], \"calls\": %lld, \"driver_time_us\": %.0f}\n",
                static_cast<long long>(driver_.calls().memory_calls()), driver_.calls().time_us);
  }

  void ShowMappings(const Snapshot& snapshot) const {
    std::map<int32_t, int64_t> sizes;
    for (const BlockRow& block : snapshot.blocks) sizes[block.id] = block.size;
    std::printf("], \"mappings\": [");
    const char* comma = "";
    for (const MappingRow& mapping : snapshot.mappings) {
      std::printf("%s{\"range\": %d, \"block\": %d, \"address\": %llu, \"size\": %lld}", comma, mapping.range,
                  mapping.block, static_cast<unsigned long long>(mapping.address),
                  static_cast<long long>(sizes[mapping.block]));
      comma = ", ";
    }
  }

  void ShowLeases(const Snapshot& snapshot) const {
    std::map<uint64_t, std::string> names;
    for (const auto& [name, address] : leases_) names[address.value()] = name;
    std::printf("], \"leases\": [");
    const char* comma = "";
    for (const LeaseRow& lease : snapshot.leases) {
      std::printf("%s{\"name\": \"%s\", \"address\": %llu, \"size\": %lld, \"way\": %d}", comma,
                  names[lease.address].c_str(), static_cast<unsigned long long>(lease.address),
                  static_cast<long long>(lease.size), lease.way);
      comma = ", ";
    }
  }

  ModelDriver driver_;
  Allocator allocator_;
  std::map<std::string, Address> leases_;
};

int Main(int argc, char** argv) {
  const std::string limit = argc > 1 ? argv[1] : "";
  if (limit.rfind("--limit=", 0) != 0) return std::fprintf(stderr, "usage: walk_main --limit=BYTES STEP...\n"), 2;
  Walk walk(Bytes(std::atoll(limit.c_str() + 8)));
  for (int i = 2; i < argc; ++i) {
    if (!walk.Take(argv[i])) return std::fprintf(stderr, "%s did not work\n", argv[i]), 1;
  }
  return 0;
}

}  // namespace
}  // namespace gmlake::bench

int main(int argc, char** argv) { return gmlake::bench::Main(argc, argv); }
