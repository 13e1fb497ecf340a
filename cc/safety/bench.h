// A device, an allocator and their shadow, with the few verbs that scenarios are told in.
#ifndef GMLAKE_SAFETY_BENCH_H_
#define GMLAKE_SAFETY_BENCH_H_

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/allocator.h"
#include "cc/driver/fake_driver.h"
#include "cc/safety/shadow.h"

namespace gmlake {

inline const StreamHandle kOwner{reinterpret_cast<void*>(1)};
inline const StreamHandle kOther{reinterpret_cast<void*>(2)};
inline const StreamHandle kThird{reinterpret_cast<void*>(3)};

inline Recording ReadRecording(Allocator* allocator) {
  Recording recording;
  allocator->TakeSnapshot(&recording);
  return recording;
}

// Not thread-safe. Every lease has work queued on its stream, which finishes only when somebody waits for it.
struct Bench {
  explicit Bench(Bytes limit = MiB(64), ReclaimBudget budget = {})
      : allocator(std::make_unique<Allocator>(&driver, AllocatorOptions{limit, budget})),
        shadow(&driver, allocator.get()) {}

  Status Get(Bytes size, StreamHandle stream = kOwner) {
    const StatusOr<Address> address = allocator->Allocate(size, stream);
    if (!address.ok()) {
      shadow.Refused();
      return address.status();
    }
    shadow.Begin(*address, size, stream);
    driver.Launch(stream, *address, std::max(size, Bytes(1)), shadow.leases().back().owner);
    return OkStatus();
  }

  // Frees the lease with this number, counted from the first live one; the last takes its number.
  void Drop(size_t index, StreamHandle stream = kOwner) {
    allocator->Free(shadow[index].address, stream);
    shadow.End(index);
  }

  void DropAll() {
    while (!shadow.leases().empty()) Drop(shadow.leases().size() - 1, shadow.leases().back().streams.front());
  }

  // `count` leases of `size`, every other one freed again.
  void MakeHoles(Bytes size, int count) {
    for (int i = 0; i < count; ++i) Get(size).IgnoreError();
    for (int i = count - 1; i >= 0; i -= 2) Drop(i);
  }

  FakeDriver driver{GiB(4)};
  std::unique_ptr<Allocator> allocator;
  Shadow shadow;
};

}  // namespace gmlake

#endif  // GMLAKE_SAFETY_BENCH_H_
