// Calls to the stock plugin through its own table, one method for each question.
#ifndef GMLAKE_PJRT_PLUGIN_PLUGIN_CLIENT_H_
#define GMLAKE_PJRT_PLUGIN_PLUGIN_CLIENT_H_

#include <optional>
#include <string>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

using Devices = std::vector<PJRT_Device*>;  // null: not known which

// The arguments of a call, zeroed, with the size that the plugin expects. `entry`: PJRT_Event_Await and the like.
#define GMLAKE_PLUGIN_ARGS(entry) MakeArgs<entry##_Args>(entry##_Args_STRUCT_SIZE)

template <typename Args>
Args MakeArgs(size_t struct_size) {
  Args args = {};
  args.struct_size = struct_size;
  return args;
}

// The entries of `table`, as far as our header knows them.
PJRT_Api CopyOf(const PJRT_Api& table);

// Model: the stock entries as they were before any was replaced. Invariant: never changes, so a call never arrives at
// an entry of ours. Threads: any. Cost: one call of the plugin for each method; those that ask what is behind a loaded
// executable make three.
class PluginClient {
 public:
  explicit PluginClient(const PJRT_Api& table) : stock_(CopyOf(table)) {}

  // For entries of ours that pass a caller's arguments on.
  const PJRT_Api& stock() const { return stock_; }

  // Takes the error's text and destroys it; null is success.
  Status TakeError(PJRT_Error* error) const;
  void Destroy(PJRT_Error* error) const;
  // The error's text; the error stays.
  std::string TextOf(const PJRT_Error* error) const;
  // Whether the error says that memory ran out.
  bool IsExhausted(const PJRT_Error* error) const;
  // An error that the plugin makes because it must refuse the call; null if it accepts the call.
  PJRT_Error* ProvokeError() const;

  // The devices of this process.
  StatusOr<Devices> AddressableDevices(PJRT_Client* client) const;
  PJRT_Error* Destroy(PJRT_Client* client) const;
  // Puts four bytes on the device's default memory, waits for them, and frees them again.
  Status TouchDevice(PJRT_Client* client, PJRT_Device* device) const;

  // The CUDA ordinal of a device, or -1.
  int OrdinalOf(PJRT_Device* device) const;
  std::vector<int> OrdinalsOf(const Devices& devices) const;
  // The device where a buffer is; null: not known.
  PJRT_Device* DeviceOf(PJRT_Buffer* buffer) const;
  // The devices that each of these belongs to; none: not known.
  Devices DevicesOf(PJRT_Memory* memory) const;
  Devices DevicesOf(PJRT_LoadedExecutable* executable) const;
  Devices DevicesOf(PJRT_AsyncHostToDeviceTransferManager* manager) const;

  // Empty: not known.
  std::string NameOf(PJRT_LoadedExecutable* loaded) const;
  // How many buffers each device gets from one run; 0: not known.
  size_t NumOutputs(PJRT_LoadedExecutable* loaded) const;

  // True where it is not known.
  bool IsDeleted(PJRT_Buffer* buffer) const;
  std::optional<size_t> SizeOf(PJRT_Buffer* buffer) const;
  std::optional<PJRT_Buffer_MemoryLayout> LayoutOf(PJRT_Buffer* buffer) const;
  // Null: not known.
  Address AddressOf(PJRT_Buffer* buffer) const;
  // The caller's to destroy. Null: not known.
  StatusOr<PJRT_Event*> ReadyEvent(PJRT_Buffer* buffer) const;
  Status Destroy(PJRT_Buffer* buffer) const;

  bool IsReady(PJRT_Event* event) const;
  PJRT_Error* ErrorOf(PJRT_Event* event) const;
  Status Await(PJRT_Event* event) const;
  // Calls `callback(error, user_arg)` when the event is ready, unless this fails.
  Status CallWhenReady(PJRT_Event* event, PJRT_Event_OnReadyCallback callback, void* user_arg) const;
  Status Destroy(PJRT_Event* event) const;

 private:
  template <typename Args>
  Status Call(PJRT_Error* (*entry)(Args*), Args* args) const {
    return TakeError(entry(args));
  }
  Status AwaitAndDestroy(PJRT_Event* event) const;
  Status AwaitAndDestroy(PJRT_Buffer* buffer) const;
  template <typename Ask>
  void AskExecutable(PJRT_LoadedExecutable* loaded, Ask ask) const;

  PJRT_Api stock_;
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_PLUGIN_PLUGIN_CLIENT_H_
