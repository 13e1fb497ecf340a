#include "cc/pjrt/hook/trim_and_retry.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <utility>

#include "cc/pjrt/patch/exception_barrier.h"
#include "cc/pjrt/patch/fork_guard.h"

namespace gmlake {
namespace {

constexpr int kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY

std::function<void()>& TrimIdleMemory() {
  static auto* const trim = new std::function<void()>;
  return *trim;
}

// One function of the driver, under a name, and ours around it. All that matters of the arguments is their types.
template <int kIndex, typename... Args>
struct Around {
  using Function = int (*)(Args...);
  static inline std::atomic<Function> drivers{nullptr};
  static int Call(Args... args) {
    return TrimAndRetry([&] { return drivers.load()(args...); });
  }
  static void* Keep(void* function) {
    drivers.store(reinterpret_cast<Function>(function));
    return reinterpret_cast<void*>(ExceptionBarrier<&Call, AnswerAsCuda>::Wrap().get());
  }
};

struct Retried {
  const char* name;
  void* (*keep)(void* drivers);
};

using Pointer = void*;
using DevicePointer = unsigned long long;

constexpr Retried kRetried[] = {
    {"cuMemAlloc_v2", &Around<0, DevicePointer*, size_t>::Keep},
    {"cuMemCreate", &Around<1, DevicePointer*, size_t, const void*, unsigned long long>::Keep},
    {"cuModuleLoadData", &Around<2, Pointer*, const void*>::Keep},
    {"cuModuleLoadFatBinary", &Around<6, Pointer*, const void*>::Keep},
    {"cuModuleLoadDataEx", &Around<3, Pointer*, const void*, unsigned, void*, Pointer*>::Keep},
    {"cuGraphInstantiateWithFlags", &Around<4, Pointer*, Pointer, unsigned long long>::Keep},
    {"cuGraphInstantiate", &Around<5, Pointer*, Pointer, unsigned long long>::Keep},
};

}  // namespace

void SetTrim(std::function<void()> give_back) { TrimIdleMemory() = std::move(give_back); }

bool TrimIfOutOfMemory(int result) {
  if (result != kOutOfMemory || InForkedChild() || !TrimIdleMemory()) return false;
  TrimIdleMemory()();
  return true;
}

bool IsRetried(const char* name) {
  return std::any_of(std::begin(kRetried), std::end(kRetried),
                     [name](const Retried& retried) { return std::strcmp(name, retried.name) == 0; });
}

void* RetriedFunction(const char* name, void* drivers) {
  for (const Retried& retried : kRetried) {
    if (std::strcmp(name, retried.name) == 0 && drivers != nullptr) return retried.keep(drivers);
  }
  return nullptr;
}

}  // namespace gmlake
