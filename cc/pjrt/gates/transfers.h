// Copies that were requested and may not be queued yet. The host framework queues them on threads of its own after the
// call has returned, so no stream shows them. While there are any, the device must not fall asleep.
#ifndef GMLAKE_PJRT_GATES_TRANSFERS_H_
#define GMLAKE_PJRT_GATES_TRANSFERS_H_

#include <vector>

#include "cc/pjrt/gates/sleep_gate.h"
#include "cc/pjrt/plugin/plugin_client.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// Model: the gate counts each copy for the devices that it touches until the framework's event says that it is over.
// Threads: any. Cost: one callback for each copy; never on the path of a program that runs. (Running one queues its
// work before the call returns, waiting for copies of its arguments if need be.)
class Transfers {
 public:
  // Both must outlive every copy.
  Transfers(const PluginClient* plugin, SleepGate* gate) : plugin_(plugin), gate_(gate) {}

  // Until `event`, which stays the caller's. `ordinals`: of the devices; negative ones are none of ours.
  void Watch(PJRT_Event* event, const std::vector<int>& ordinals);
  // Until the buffer has its contents.
  void WatchBuffer(PJRT_Buffer* buffer, const std::vector<int>& ordinals);

 private:
  struct Copy;

  void Watch(PJRT_Event* event, bool is_ours, const std::vector<int>& ordinals);
  void End(Copy* copy, PJRT_Error* error);

  const PluginClient* plugin_;
  SleepGate* gate_;
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_GATES_TRANSFERS_H_
