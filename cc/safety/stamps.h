// A HostCopier for random programs: it knows what lies at a few marked places of the fake device's memory, and where
// copies take it. Cheap however large the leases are, because only marked places exist.
#ifndef GMLAKE_SAFETY_STAMPS_H_
#define GMLAKE_SAFETY_STAMPS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/driver/fake_driver.h"
#include "cc/driver/host_copier.h"

namespace gmlake {

// Model: stamps, eight bytes each, at places of physical blocks and of host memory; whatever a copy does not bring is
// gone. Copies are queued, and happen when they are waited for: as late as on a device. Thread rule: AllocateHost and
// FreeHost from any thread, the rest from one. Cost: logarithmic in the stamps.
class Stamps final : public HostCopier {
 public:
  explicit Stamps(FakeDriver* driver) : driver_(driver) {}

  // `address` is mapped.
  void Put(Address address, uint64_t stamp) { device_[PlaceOf(address)] = stamp; }
  bool IsAt(Address address, uint64_t stamp) const;

  // The copying call numbered `call` from now on fails, 0 being the next.
  void FailCall(int64_t call) { fail_in_ = call; }
  void SetHostMemory(Bytes available) { available_ = available; }
  // Called in the middle of every copy: a place to do what another thread might do.
  void OnCopy(std::function<void()> action) { on_copy_ = std::move(action); }

  Status Open() override { return OkStatus(); }
  StatusOr<char*> AllocateHost(Bytes size) override;
  void FreeHost(char* memory, Bytes size) override;
  Bytes AvailableHost() override { return available_; }
  Status ToHost(char* to, Address from, Bytes size) override;
  Status ToDevice(Address to, const char* from, Bytes size) override;
  Status Zero(Address to, Bytes size) override;
  Status Finish() override;
  Status AwaitDevice() override;

 private:
  using Place = std::pair<uint64_t, int64_t>;  // physical block, offset

  Status Enter();
  Status Queue(std::function<void()> copy);
  void CopyToHost(char* to, Address from, Bytes size);
  void CopyToDevice(Address to, const char* from, Bytes size);
  void Erase(Address to, Bytes size);
  Place PlaceOf(Address address) const;
  // Calls `visit(extent, done)` for the physical bytes under the address, `done` of them coming before.
  template <typename Visit>
  void ForEachExtent(Address address, Bytes size, Visit visit) const;

  FakeDriver* driver_;
  std::map<Place, uint64_t> device_;
  std::map<const char*, uint64_t> host_;
  std::vector<std::function<void()>> queue_;
  int64_t fail_in_ = -1;
  Bytes available_ = GiB(64);
  std::function<void()> on_copy_;
};

}  // namespace gmlake

#endif  // GMLAKE_SAFETY_STAMPS_H_
