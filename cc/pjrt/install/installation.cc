#include "cc/pjrt/install/installation.h"

#include <cstdlib>
#include <utility>

#include "cc/base/mutex.h"
#include "cc/pjrt/entries/table.h"
#include "cc/pjrt/hook/driver_hook.h"
#include "cc/pjrt/oom/oom_tracker.h"
#include "cc/pjrt/patch/exception_barrier.h"
#include "cc/pjrt/patch/fork_guard.h"

namespace gmlake {
namespace {

// The driver is about to be torn down by its own exit handler, which was registered before this one and so runs later.
// A forked child has no such thread, and locks that nobody will let go of.
void StopAtExit() {
  if (!InForkedChild()) Attempt([] { Installation::Instance().registry()->StopHousekeeping(); });
}

}  // namespace

// Never destroyed: the plugin's threads may call us until the process is gone.
Installation& Installation::Instance() {
  static Installation* const instance = new Installation;
  return *instance;
}

Status Installation::Install(const std::string& stock_path, const Options& options) {
  const MutexLock lock(&mutex_);
  const StatusOr<StockPlugin> plugin = OpenStockPlugin(stock_path);
  if (!plugin.ok()) return plugin.status();
  if (registry_ == nullptr) return InstallUnder(*plugin, options);
  if (plugin->api == table_) return OkStatus();
  return Status(StatusCode::kFailedPrecondition, "gmlake_jax is already installed under another CUDA plugin");
}

Status Installation::InstallUnder(const StockPlugin& plugin, const Options& options) {
  if (!broken_off_.ok()) return broken_off_;
  GMLAKE_RETURN_IF_ERROR(CheckTable(plugin.api));
  GMLAKE_ASSIGN_OR_RETURN(const HookPoint point, FindHookPoint(plugin.library));
  auto registry = std::make_unique<DeviceRegistry>(options);
  OomTracker::Instance().SetOptions({options.oom_folder, options.record_path});
  GMLAKE_RETURN_IF_ERROR(InstallDriverHook(point, registry.get()));
  Status wrapped(StatusCode::kFailedPrecondition, "the host has not enough memory to install gmlake_jax");
  Attempt([&] { wrapped = WrapTable(plugin.api, registry.get(), &activity_); });
  if (!wrapped.ok()) {
    RemoveDriverHook(point);
    registry.release();  // whoever took an entry of ours from the table meanwhile may call it still
    return broken_off_ = wrapped;
  }
  table_ = plugin.api;
  registry_ = std::move(registry);
  std::atexit(&StopAtExit);
  activity_.Set("installed; JAX has not created its devices yet");
  return OkStatus();
}

bool Installation::is_installed() const { return registry() != nullptr; }

DeviceRegistry* Installation::registry() const {
  const MutexLock lock(&mutex_);
  return registry_.get();
}

PJRT_Api* Installation::table() const {
  const MutexLock lock(&mutex_);
  return table_;
}

}  // namespace gmlake
