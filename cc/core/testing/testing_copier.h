// For tests: a HostCopier over the fake driver that knows what lies in every page of every physical block.
#ifndef GMLAKE_CORE_TESTING_TESTING_COPIER_H_
#define GMLAKE_CORE_TESTING_TESTING_COPIER_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "cc/driver/fake_driver.h"
#include "cc/driver/host_copier.h"

namespace gmlake {

// Model: one number per page of 64 KiB, by block and offset: memory of a block that is released is gone, and an address
// leads to whatever block is mapped there. Host memory holds the number at the page's first bytes. Copies are queued,
// and happen when they are waited for: as late as on a device. Thread rule: AllocateHost from any thread, the rest from
// one.
class TestingCopier final : public HostCopier {
 public:
  static constexpr Bytes kPage = KiB(64);

  explicit TestingCopier(FakeDriver* driver) : driver_(driver) {}

  void Write(Address address, Bytes size, uint64_t value) {
    for (Bytes at(0); at < size; at += kPage) Page(address + at) = value + static_cast<uint64_t>(at.count());
  }
  bool Holds(Address address, Bytes size, uint64_t value) {
    for (Bytes at(0); at < size; at += kPage) {
      if (Page(address + at) != value + static_cast<uint64_t>(at.count())) return false;
    }
    return true;
  }
  bool IsZero(Address address, Bytes size) {
    for (Bytes at(0); at < size; at += kPage) {
      if (Page(address + at) != 0) return false;
    }
    return true;
  }

  // The call numbered `call` from now on fails, 0 being the next; a negative number: none.
  void FailCall(int64_t call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    fail_in_ = call;
  }
  bool failed() const { return failed_; }
  void SetAvailable(Bytes bytes) { available_ = bytes; }
  void OnCopy(std::function<void()> action) { on_copy_ = std::move(action); }
  // `action` runs in the threads that make host memory; to be set while there are none.
  void OnAllocate(std::function<void()> action) { on_allocate_ = std::move(action); }
  // Called while the device is waited for.
  void OnAwait(std::function<void()> action) { on_await_ = std::move(action); }
  Bytes host_bytes() const { return host_bytes_; }

  Status Open() override { return OkStatus(); }
  StatusOr<char*> AllocateHost(Bytes size) override {
    if (on_allocate_) on_allocate_();
    const std::lock_guard<std::mutex> lock(mutex_);
    const Status entered = Enter();
    if (!entered.ok()) return entered;
    host_bytes_ += size;
    return static_cast<char*>(std::malloc(static_cast<size_t>(size.count())));
  }
  void FreeHost(char* memory, Bytes size) override {
    host_bytes_ -= size;
    std::free(memory);
  }
  Bytes AvailableHost() override { return available_; }

  Status ToHost(char* to, Address from, Bytes size) override {
    return Copy(size, [=](Bytes at) { std::memcpy(to + at.count(), &Page(from + at), sizeof(uint64_t)); });
  }
  Status ToDevice(Address to, const char* from, Bytes size) override {
    return Copy(size, [=](Bytes at) { std::memcpy(&Page(to + at), from + at.count(), sizeof(uint64_t)); });
  }
  Status Zero(Address to, Bytes size) override {
    return Copy(size, [=](Bytes at) { Page(to + at) = 0; });
  }
  // What was queued happens, even if somebody who waits for it is told of an error.
  Status Finish() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const std::function<void()>& copy : queue_) copy();
    queue_.clear();
    return Enter();
  }
  Status AwaitDevice() override {
    if (on_await_) on_await_();
    driver_->FinishAll();
    const std::lock_guard<std::mutex> lock(mutex_);
    return Enter();
  }

 private:
  Status Enter() {
    if (fail_in_ < 0 || fail_in_-- > 0) return OkStatus();
    failed_ = true;
    return Status(StatusCode::kDriverError, "scripted");
  }

  template <typename Visit>
  Status Copy(Bytes size, Visit visit) {
    if (on_copy_) on_copy_();
    const std::lock_guard<std::mutex> lock(mutex_);
    const Status entered = Enter();
    if (!entered.ok()) return entered;
    queue_.push_back([size, visit] {
      for (Bytes at(0); at < size; at += kPage) visit(at);
    });
    return OkStatus();
  }

  // A page of a block that does not exist yet holds garbage, and not zero.
  uint64_t& Page(Address address) {
    const auto extents = driver_->Resolve(address, Bytes(1));
    const auto key = std::make_pair(extents.at(0).block, extents.at(0).offset / kPage);
    return pages_.emplace(key, 0xDEADBEEF).first->second;
  }

  FakeDriver* driver_;
  std::mutex mutex_;
  std::map<std::pair<uint64_t, int64_t>, uint64_t> pages_;
  std::vector<std::function<void()>> queue_;
  int64_t fail_in_ = -1;
  bool failed_ = false;
  Bytes available_ = GiB(64);
  Bytes host_bytes_;
  std::function<void()> on_await_;
  std::function<void()> on_copy_;
  std::function<void()> on_allocate_;
};

}  // namespace gmlake

#endif  // GMLAKE_CORE_TESTING_TESTING_COPIER_H_
