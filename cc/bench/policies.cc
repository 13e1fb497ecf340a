#include "cc/bench/policies.h"

#include "cc/bench/bfc_model.h"
#include "cc/bench/gmlake_policy.h"
#include "cc/bench/uniform_model.h"

namespace gmlake::bench {

const std::vector<std::string>& PolicyNames() {
  static const auto* names = new std::vector<std::string>{"gmlake", "gmlake-uniform-2mib", "bfc"};
  return *names;
}

std::unique_ptr<Policy> MakePolicy(const std::string& name, Driver* driver, std::optional<Bytes> limit) {
  const Bytes bound = limit.value_or(driver->QueryMemory()->total);
  if (name == "gmlake") return std::make_unique<GmlakePolicy>(driver, bound);
  if (name == "gmlake-uniform-2mib") return std::make_unique<UniformModel>(driver, bound);
  if (name == "bfc") {
    const auto mode = limit ? BfcModel::Mode::kPreallocate : BfcModel::Mode::kGrow;
    return std::make_unique<BfcModel>(driver, bound, mode);
  }
  return nullptr;
}

}  // namespace gmlake::bench
