// State shared by the entries that are blocked while a device sleeps. The entries themselves: sleep_entries.h (those of
// the plugin's table), cross_host_entries.h (those of an extension).
#ifndef GMLAKE_PJRT_GATES_GATED_ENTRIES_H_
#define GMLAKE_PJRT_GATES_GATED_ENTRIES_H_

#include <atomic>

#include "cc/base/status.h"
#include "cc/pjrt/devices/device_registry.h"
#include "cc/pjrt/gates/shared_buffers.h"
#include "cc/pjrt/gates/sleep_gate.h"
#include "cc/pjrt/gates/transfers.h"
#include "cc/pjrt/plugin/error_texts.h"
#include "cc/pjrt/plugin/plugin_client.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// Entries are C functions, so their state is global.
struct GatedEntries {
  GatedEntries(const PluginClient* stock_plugin, DeviceRegistry* devices, ErrorTexts* error_texts)
      : plugin(stock_plugin), registry(devices), texts(error_texts) {}

  const PluginClient* const plugin;
  DeviceRegistry* const registry;
  ErrorTexts* const texts;
  Status all_known;  // whether every way into the plugin is one that we know
  SleepGate gate;
  Transfers transfers{plugin, &gate};
  SharedBuffers shared;
  std::atomic<bool> lost_a_copy{false};  // the gate does not know of one, so no device may sleep any more
};

// Set once, before the first entry gets a gate.
extern GatedEntries* gated;

// An error that says which of them sleeps; null if none does.
PJRT_Error* Refusal(const Devices& devices);
PJRT_Error* RefusalOf(int ordinal);

// Calls the plugin through `call()`, unless one of the devices that `touched()` tells sleeps. None falls asleep
// meanwhile.
template <typename Touched, typename Call>
PJRT_Error* PassGate(Touched touched, Call call) {
  const SleepGate::Passage passage(&gated->gate);
  if (!passage.all_open()) {
    if (PJRT_Error* const refused = Refusal(touched())) return refused;
  }
  return call();
}

}  // namespace gmlake

#endif  // GMLAKE_PJRT_GATES_GATED_ENTRIES_H_
