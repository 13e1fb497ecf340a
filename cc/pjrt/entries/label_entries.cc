#include "cc/pjrt/entries/label_entries.h"

#include <atomic>
#include <string>

#include "cc/pjrt/plugin/error_maker.h"
#include "cc/telemetry/labels.h"

namespace gmlake {
namespace {

// What stands behind the two entries. Set once, before the first is replaced.
struct NextEntries {
  const PluginClient* plugin = nullptr;
  PJRT_LoadedExecutable_Execute* execute = nullptr;
  PJRT_LoadedExecutable_Destroy* destroy = nullptr;
  std::atomic<int64_t> destroyed{0};  // how many executables are gone: a new one may have the address of an old one
};

NextEntries* next_entries = nullptr;

// What this thread ran last, and the label that it had: a loop asks for the name once.
struct LastRun {
  PJRT_LoadedExecutable* executable = nullptr;
  int64_t destroyed = 0;
  int32_t outer = kNoLabel;
  int32_t label = kNoLabel;
};

int32_t LabelFor(PJRT_LoadedExecutable* executable, int32_t outer) {
  static thread_local LastRun last;
  const int64_t destroyed = next_entries->destroyed.load(std::memory_order_acquire);
  if (last.executable == executable && last.outer == outer && last.destroyed == destroyed) return last.label;
  const std::string name = next_entries->plugin->NameOf(executable);
  last = {executable, destroyed, outer, name.empty() ? outer : InternLabel(outer, name)};
  return last.label;
}

// The thread's label is again what it was, however the call ends.
struct RestoredLabel {
  ~RestoredLabel() { SetCurrentLabel(label); }
  const int32_t label = CurrentLabel();
};

PJRT_Error* Execute(PJRT_LoadedExecutable_Execute_Args* args) {
  const RestoredLabel outer;
  Attempt([&] { SetCurrentLabel(LabelFor(args->executable, outer.label)); });
  return next_entries->execute(args);
}

PJRT_Error* DestroyLoaded(PJRT_LoadedExecutable_Destroy_Args* args) {
  next_entries->destroyed.fetch_add(1, std::memory_order_release);
  return next_entries->destroy(args);
}

bool HasEntries(const PJRT_Api& api) {
  return api.PJRT_LoadedExecutable_Execute != nullptr && api.PJRT_LoadedExecutable_Destroy != nullptr &&
         api.PJRT_LoadedExecutable_GetExecutable != nullptr && api.PJRT_Executable_Name != nullptr &&
         api.PJRT_Executable_Destroy != nullptr;
}

}  // namespace

Status WrapLabelEntries(const PluginClient* plugin, PJRT_Api* api, TableEdit* edit) {
  if (!HasEntries(plugin->stock())) return OkStatus();
  next_entries = new NextEntries;
  next_entries->plugin = plugin;
  next_entries->execute = api->PJRT_LoadedExecutable_Execute;
  next_entries->destroy = api->PJRT_LoadedExecutable_Destroy;
  const Status destroy = edit->Replace(&api->PJRT_LoadedExecutable_Destroy, FencedEntry<&DestroyLoaded>());
  return destroy.ok() ? edit->Replace(&api->PJRT_LoadedExecutable_Execute, FencedEntry<&Execute>()) : destroy;
}

}  // namespace gmlake
