#include "cc/pjrt/hook/pressure_hook.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <utility>

#include "cc/pjrt/patch/fence.h"
#include "cc/pjrt/patch/fork_guard.h"

namespace gmlake {
namespace {

constexpr int kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY

std::function<void()>& Reliever() {
  static auto* const reliever = new std::function<void()>;
  return *reliever;
}

// One function of the driver, under a name, and ours around it. All that matters of the arguments is their types.
template <int kIndex, typename... Args>
struct Around {
  using Function = int (*)(Args...);
  static inline std::atomic<Function> drivers{nullptr};
  static int Call(Args... args) {
    return WithRelief([&] { return drivers.load()(args...); });
  }
  static void* Keep(void* function) {
    drivers.store(reinterpret_cast<Function>(function));
    return reinterpret_cast<void*>(Fence<&Call, AnswerAsCuda>::Wrap().get());
  }
};

struct Relieved {
  const char* name;
  void* (*keep)(void* drivers);
};

using Pointer = void*;
using DevicePointer = unsigned long long;

constexpr Relieved kRelieved[] = {
    {"cuMemAlloc_v2", &Around<0, DevicePointer*, size_t>::Keep},
    {"cuMemCreate", &Around<1, DevicePointer*, size_t, const void*, unsigned long long>::Keep},
    {"cuModuleLoadData", &Around<2, Pointer*, const void*>::Keep},
    {"cuModuleLoadFatBinary", &Around<6, Pointer*, const void*>::Keep},
    {"cuModuleLoadDataEx", &Around<3, Pointer*, const void*, unsigned, void*, Pointer*>::Keep},
    {"cuGraphInstantiateWithFlags", &Around<4, Pointer*, Pointer, unsigned long long>::Keep},
    {"cuGraphInstantiate", &Around<5, Pointer*, Pointer, unsigned long long>::Keep},
};

}  // namespace

void SetReliever(std::function<void()> give_back) { Reliever() = std::move(give_back); }

bool Relieve(int result) {
  if (result != kOutOfMemory || InForkedChild() || !Reliever()) return false;
  Reliever()();
  return true;
}

bool IsRelieved(const char* name) {
  return std::any_of(std::begin(kRelieved), std::end(kRelieved),
                     [name](const Relieved& relieved) { return std::strcmp(name, relieved.name) == 0; });
}

void* RelievedFunction(const char* name, void* drivers) {
  for (const Relieved& relieved : kRelieved) {
    if (std::strcmp(name, relieved.name) == 0 && drivers != nullptr) return relieved.keep(drivers);
  }
  return nullptr;
}

}  // namespace gmlake
