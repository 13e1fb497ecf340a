// Finds the CUDA plugin that ships with jaxlib, and its PJRT table.
#ifndef GMLAKE_PJRT_PLUGIN_STOCK_PLUGIN_H_
#define GMLAKE_PJRT_PLUGIN_STOCK_PLUGIN_H_

#include <string>

#include "cc/base/status.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

struct StockPlugin {
  void* library = nullptr;  // as dlopen gives it; never closed
  PJRT_Api* api = nullptr;  // the plugin's one table, in its own memory
};

// Loads the plugin, as JAX would, and asks it for its table. Loading it twice gives the same library.
StatusOr<StockPlugin> OpenStockPlugin(const std::string& path);

// `xla_cuda_plugin.so` in the folder of this library; empty if there is none.
std::string StockPluginBesideUs();

}  // namespace gmlake

#endif  // GMLAKE_PJRT_PLUGIN_STOCK_PLUGIN_H_
