#include "cc/pjrt/oom/early_results.h"

#include "cc/pjrt/oom/oom_tracker.h"

namespace gmlake {

EarlyResults::EarlyResults(const PluginClient& plugin, PJRT_LoadedExecutable_Execute_Args* args)
    : plugin_(plugin), args_(args), refused_before_(OomTracker::NumOnThisThread()) {}

std::string EarlyResults::Failure() const {
  if (OomTracker::NumOnThisThread() == refused_before_ || args_->num_devices != 1) return "";
  if (plugin_.NumOutputs(args_->executable) == 0) return "";
  for (size_t i = 0; i < args_->num_args; ++i) {
    if (plugin_.IsDeleted(args_->argument_lists[0][i])) return "";
  }
  return ErrorOf(args_->output_lists[0][0]);
}

void EarlyResults::TakeBack() {
  const size_t count = plugin_.NumOutputs(args_->executable);
  for (size_t i = 0; i < count; ++i) plugin_.Destroy(args_->output_lists[0][i]).IgnoreError();
  if (args_->device_complete_events != nullptr) plugin_.Destroy(args_->device_complete_events[0]).IgnoreError();
}

std::string EarlyResults::ErrorOf(PJRT_Buffer* buffer) const {
  const StatusOr<PJRT_Event*> ready = plugin_.ReadyEvent(buffer);
  if (!ready.ok()) return "";
  const std::string text = plugin_.IsReady(*ready) ? ErrorOf(*ready) : "";
  plugin_.Destroy(*ready).IgnoreError();
  return text;
}

std::string EarlyResults::ErrorOf(PJRT_Event* event) const {
  PJRT_Error* const error = plugin_.ErrorOf(event);
  const std::string text = error != nullptr && plugin_.IsExhausted(error) ? plugin_.TextOf(error) : "";
  plugin_.TakeError(error).IgnoreError();
  return text;
}

}  // namespace gmlake
