// A scripted stand-in for jaxlib's CUDA plugin: a PJRT table and as much of XLA's cuda_async allocator as shows whether
// its requests arrive at us. It counts its calls.
#ifndef GMLAKE_PJRT_TESTING_SCRIPTED_PLUGIN_H_
#define GMLAKE_PJRT_TESTING_SCRIPTED_PLUGIN_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gmlake {

// How many entries the tables of JAX 0.10 to 0.12 have, and what we call those of the extension.
constexpr size_t kEntries = 143;
constexpr size_t kExtensionEntries = 1000;

struct ScriptedPlugin {
  // Script.
  std::string driver_path;  // which driver it looks its functions up in
  int num_devices = 1;
  bool takes_another_allocator = false;  // whatever it is asked for
  bool creation_fails = false;
  bool knows_no_memory_stats = false;
  bool copies_take_time = false;             // until FinishCopies
  std::function<void(size_t place)> inside;  // called by every entry that does nothing else
  void* table = nullptr;                     // where the table is, if not in the plugin

  // Observations.
  std::map<std::string, std::string> options;  // of the last Client_Create, as text
  int clients = 0;                             // live
  int buffers = 0;                             // live
  int errors = 0;                              // live
  std::vector<std::function<void()>> copying;  // who waits for a copy

  // Gives the table an entry at every place that the plugins of JAX 0.10 to 0.12 have, and their extension for
  // cross-host transfers; its entries have places from kExtensionEntries on. What is new does nothing.
  void (*offer_all)();
  std::vector<size_t> offered;  // the places of what does nothing

  void FinishCopies() {
    std::vector<std::function<void()>> finished;
    finished.swap(copying);
    for (const std::function<void()>& tell : finished) tell();
  }
};

using GetScriptedPlugin = ScriptedPlugin* (*)();
constexpr const char* kGetScriptedPlugin = "GetScriptedPlugin";
constexpr const char* kScriptedPluginPath = "cc/pjrt/testing/libscripted_plugin.so";

}  // namespace gmlake

#endif  // GMLAKE_PJRT_TESTING_SCRIPTED_PLUGIN_H_
