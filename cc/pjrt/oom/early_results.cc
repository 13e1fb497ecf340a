#include "cc/pjrt/oom/early_results.h"

#include "cc/pjrt/oom/oom_tracker.h"
#include "cc/pjrt/plugin/plugin_client.h"

namespace gmlake {

EarlyResults::EarlyResults(const PJRT_Api& stock, PJRT_LoadedExecutable_Execute_Args* args)
    : stock_(stock), args_(args), refused_before_(OomTracker::NumOnThisThread()) {}

std::string EarlyResults::Failure() const {
  if (OomTracker::NumOnThisThread() == refused_before_ || args_->num_devices != 1 || Count() == 0) return "";
  for (size_t i = 0; i < args_->num_args; ++i) {
    if (IsDeleted(args_->argument_lists[0][i])) return "";
  }
  return ErrorOf(args_->output_lists[0][0]);
}

void EarlyResults::TakeBack() {
  const size_t count = Count();
  for (size_t i = 0; i < count; ++i) Destroy(args_->output_lists[0][i]);
  if (args_->device_complete_events != nullptr) Destroy(args_->device_complete_events[0]);
}

size_t EarlyResults::Count() const {
  PJRT_LoadedExecutable_GetExecutable_Args get = {};
  get.struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE;
  get.loaded_executable = args_->executable;
  if (!TakeError(stock_, stock_.PJRT_LoadedExecutable_GetExecutable(&get)).ok()) return 0;
  const size_t count = OutputsOf(get.executable);
  PJRT_Executable_Destroy_Args destroy = {};
  destroy.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE;
  destroy.executable = get.executable;
  TakeError(stock_, stock_.PJRT_Executable_Destroy(&destroy)).IgnoreError();
  return count;
}

size_t EarlyResults::OutputsOf(PJRT_Executable* executable) const {
  PJRT_Executable_NumOutputs_Args args = {};
  args.struct_size = PJRT_Executable_NumOutputs_Args_STRUCT_SIZE;
  args.executable = executable;
  return TakeError(stock_, stock_.PJRT_Executable_NumOutputs(&args)).ok() ? args.num_outputs : 0;
}

bool EarlyResults::IsDeleted(PJRT_Buffer* buffer) const {
  PJRT_Buffer_IsDeleted_Args args = {};
  args.struct_size = PJRT_Buffer_IsDeleted_Args_STRUCT_SIZE;
  args.buffer = buffer;
  return !TakeError(stock_, stock_.PJRT_Buffer_IsDeleted(&args)).ok() || args.is_deleted;
}

std::string EarlyResults::ErrorOf(PJRT_Buffer* buffer) const {
  PJRT_Buffer_ReadyEvent_Args ready = {};
  ready.struct_size = PJRT_Buffer_ReadyEvent_Args_STRUCT_SIZE;
  ready.buffer = buffer;
  if (!TakeError(stock_, stock_.PJRT_Buffer_ReadyEvent(&ready)).ok()) return "";
  const std::string text = IsReady(ready.event) ? ErrorOf(ready.event) : "";
  Destroy(ready.event);
  return text;
}

bool EarlyResults::IsReady(PJRT_Event* event) const {
  PJRT_Event_IsReady_Args args = {};
  args.struct_size = PJRT_Event_IsReady_Args_STRUCT_SIZE;
  args.event = event;
  return TakeError(stock_, stock_.PJRT_Event_IsReady(&args)).ok() && args.is_ready;
}

std::string EarlyResults::ErrorOf(PJRT_Event* event) const {
  PJRT_Event_Error_Args args = {};
  args.struct_size = PJRT_Event_Error_Args_STRUCT_SIZE;
  args.event = event;
  PJRT_Error* const error = stock_.PJRT_Event_Error(&args);
  const std::string text = error != nullptr && IsExhausted(stock_, error) ? TextOf(stock_, error) : "";
  TakeError(stock_, error).IgnoreError();
  return text;
}

void EarlyResults::Destroy(PJRT_Buffer* buffer) const {
  PJRT_Buffer_Destroy_Args args = {};
  args.struct_size = PJRT_Buffer_Destroy_Args_STRUCT_SIZE;
  args.buffer = buffer;
  TakeError(stock_, stock_.PJRT_Buffer_Destroy(&args)).IgnoreError();
}

void EarlyResults::Destroy(PJRT_Event* event) const {
  PJRT_Event_Destroy_Args args = {};
  args.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE;
  args.event = event;
  TakeError(stock_, stock_.PJRT_Event_Destroy(&args)).IgnoreError();
}

}  // namespace gmlake
