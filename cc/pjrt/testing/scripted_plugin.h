// A stand-in for jaxlib's CUDA plugin: a PJRT table and, behind it, just enough of XLA's cuda_async allocator to see
// whether its requests arrive at us. It obeys a script and keeps count.
#ifndef GMLAKE_PJRT_TESTING_SCRIPTED_PLUGIN_H_
#define GMLAKE_PJRT_TESTING_SCRIPTED_PLUGIN_H_

#include <map>
#include <string>

namespace gmlake {

struct ScriptedPlugin {
  // Script.
  std::string driver_path;  // which driver it looks its functions up in
  int num_devices = 1;
  bool takes_another_allocator = false;  // whatever it is asked for
  bool creation_fails = false;
  bool knows_no_memory_stats = false;

  // Observations.
  std::map<std::string, std::string> options;  // of the last Client_Create, as text
  int clients = 0;                             // live
  int buffers = 0;                             // live
  int errors = 0;                              // live
};

using GetScriptedPlugin = ScriptedPlugin* (*)();
constexpr const char* kGetScriptedPlugin = "GetScriptedPlugin";
constexpr const char* kScriptedPluginPath = "cc/pjrt/testing/libscripted_plugin.so";

}  // namespace gmlake

#endif  // GMLAKE_PJRT_TESTING_SCRIPTED_PLUGIN_H_
