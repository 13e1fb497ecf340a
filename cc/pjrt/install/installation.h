// Installs the allocator under the stock plugin, once for each process: checks everything first, then changes it.
#ifndef GMLAKE_PJRT_INSTALL_INSTALLATION_H_
#define GMLAKE_PJRT_INSTALL_INSTALLATION_H_

#include <memory>
#include <string>

#include "cc/base/mutex.h"
#include "cc/base/status.h"
#include "cc/pjrt/devices/device_registry.h"
#include "cc/pjrt/devices/options.h"
#include "cc/pjrt/entries/activity.h"
#include "cc/pjrt/plugin/stock_plugin.h"

namespace gmlake {

// Model: the process's one installation. Not installed, or installed for good: the plugin keeps our functions'
// addresses. One that broke off half-way was undone and is not tried again. Threads: any.
class Installation {
 public:
  static Installation& Instance();

  // Installing under the same plugin again changes nothing and succeeds. After a failure nothing is changed.
  Status Install(const std::string& stock_path, const Options& options);

  bool is_installed() const;
  // Null until installed.
  DeviceRegistry* registry() const;
  PJRT_Api* table() const;
  Activity& activity() { return activity_; }

 private:
  Installation() = default;

  Status InstallUnder(const StockPlugin& plugin, const Options& options) GMLAKE_REQUIRES(mutex_);

  Activity activity_;
  mutable Mutex mutex_;
  Status broken_off_ GMLAKE_GUARDED_BY(mutex_);
  PJRT_Api* table_ GMLAKE_GUARDED_BY(mutex_) = nullptr;
  std::unique_ptr<DeviceRegistry> registry_ GMLAKE_GUARDED_BY(mutex_);  // set once
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_INSTALL_INSTALLATION_H_
