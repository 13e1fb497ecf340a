#include "cc/pjrt/plugin/stock_plugin.h"

#include <dlfcn.h>
#include <unistd.h>

namespace gmlake {
namespace {

constexpr const char* kFileName = "xla_cuda_plugin.so";
using GetTable = const PJRT_Api* (*)();

Status NotAPlugin(const std::string& path) {
  return Status(StatusCode::kNotSupported, path + " is no PJRT plugin: it has no GetPjrtApi");
}

}  // namespace

StatusOr<StockPlugin> OpenStockPlugin(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return Status(StatusCode::kNotSupported,
                  std::string("the CUDA plugin cannot be loaded: ") + (reason == nullptr ? path : reason));
  }
  const auto get_table = reinterpret_cast<GetTable>(dlsym(library, "GetPjrtApi"));
  if (get_table == nullptr) return NotAPlugin(path);
  return StockPlugin{library, const_cast<PJRT_Api*>(get_table())};
}

std::string StockPluginBesideUs() {
  Dl_info us = {};
  if (dladdr(reinterpret_cast<void*>(&StockPluginBesideUs), &us) == 0 || us.dli_fname == nullptr) return "";
  const std::string path(us.dli_fname);
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  const std::string candidate = folder + "/" + kFileName;
  return access(candidate.c_str(), R_OK) == 0 ? candidate : "";
}

}  // namespace gmlake
