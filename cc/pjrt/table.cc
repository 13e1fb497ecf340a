#include "cc/pjrt/table.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cc/pjrt/client_options.h"
#include "cc/pjrt/error_texts.h"
#include "cc/pjrt/fork_guard.h"
#include "cc/pjrt/memory_stats.h"
#include "cc/pjrt/page_protection.h"
#include "cc/pjrt/plugin_client.h"
#include "cc/pjrt/refusals.h"

namespace gmlake {
namespace {

// What the replaced entries need, C functions that they are. Set once, before the first entry is replaced.
struct Wrapped {
  PJRT_Api stock = {};  // the entries as they were, as far as we know their struct
  DeviceRegistry* registry = nullptr;
  Activity* activity = nullptr;

  ErrorTexts texts;

  std::mutex mutex;
  std::set<PJRT_Client*> clients;  // guarded by mutex; those that were created through us
};

Wrapped* wrapped = nullptr;

// PJRT_Buffer_ReadyEvent is the last entry that we use.
constexpr size_t kTableBytesUsed = offsetof(PJRT_Api, PJRT_Buffer_ReadyEvent) + sizeof(void*);

// Everything that speaks against serving this client, found out before anything is changed.
Status PrepareToServe(const ClientOptions& options) {
  if (InForkedChild()) {
    return Status(StatusCode::kFailedPrecondition, "this process was forked from one that uses the GPU");
  }
  const std::string allocator = options.RequestedAllocator();
  if (!allocator.empty() && allocator != "cuda_async") {
    return Status(StatusCode::kInvalidArgument, "the client was created with allocator=" + allocator +
                                                    "; drop that option to use gmlake_jax");
  }
  return wrapped->registry->Serve(options.VisibleDevices());
}

// The real call, with options of ours in place of the caller's for as long as it lasts.
PJRT_Error* CreateWith(const ClientOptions& options, PJRT_Client_Create_Args* args) {
  const PJRT_NamedValue* const callers_options = args->create_options;
  const size_t callers_count = args->num_options;
  args->create_options = options.data();
  args->num_options = options.size();
  PJRT_Error* error = wrapped->stock.PJRT_Client_Create(args);
  args->create_options = callers_options;
  args->num_options = callers_count;
  return error;
}

// One buffer of four bytes tells whether XLA's requests for this device arrive at us.
Status VerifyDevice(PJRT_Client* client, PJRT_Device* device) {
  ServedDevice* served = wrapped->registry->Find(OrdinalOf(wrapped->stock, device));
  if (served == nullptr) return Status(StatusCode::kNotSupported, "XLA uses a device that was not prepared");
  const int64_t before = served->core().Stats().num_allocs;
  const Status touched = TouchDevice(wrapped->stock, client, device);
  if (!touched.ok()) return touched;
  if (served->core().Stats().num_allocs == before) {
    return Status(StatusCode::kNotSupported,
                  "XLA took another allocator than the one it was asked for, as it does under "
                  "--xla_gpu_command_buffer_update_mode; remove that flag from XLA_FLAGS");
  }
  served->core().ResetPeaks();
  served->MarkVerified();
  return OkStatus();
}

Status VerifyClient(PJRT_Client* client) {
  const StatusOr<std::vector<PJRT_Device*>> devices = AddressableDevices(wrapped->stock, client);
  if (!devices.ok()) return devices.status();
  for (PJRT_Device* device : *devices) {
    const Status verified = VerifyDevice(client, device);
    if (!verified.ok()) return verified;
  }
  return OkStatus();
}

void Announce(const Status& verified) {
  if (!verified.ok()) return wrapped->activity->StepAside(verified.message());
  std::string line = "active";
  for (const ServedDevice* device : wrapped->registry->Devices()) line += "; " + device->Describe();
  wrapped->activity->Set(line);
}

void Remember(PJRT_Client* client) {
  const std::lock_guard<std::mutex> lock(wrapped->mutex);
  wrapped->clients.insert(client);
}

// True if `client` was created through us and no other such client is left.
bool ForgetWasLast(PJRT_Client* client) {
  const std::lock_guard<std::mutex> lock(wrapped->mutex);
  return wrapped->clients.erase(client) > 0 && wrapped->clients.empty();
}

PJRT_Error* CreateClient(PJRT_Client_Create_Args* args) {
  ClientOptions options(args->create_options, args->num_options);
  const Status prepared = PrepareToServe(options);
  if (!prepared.ok()) {
    wrapped->activity->StepAside(prepared.message());
    return wrapped->stock.PJRT_Client_Create(args);
  }
  options.SetString("allocator", "cuda_async");
  options.SetBool("preallocate", false);
  PJRT_Error* error = CreateWith(options, args);
  if (error != nullptr) return error;
  Remember(args->client);
  Announce(VerifyClient(args->client));
  return nullptr;
}

PJRT_Error* DestroyClient(PJRT_Client_Destroy_Args* args) {
  PJRT_Error* error = wrapped->stock.PJRT_Client_Destroy(args);
  const bool was_last = error == nullptr && ForgetWasLast(args->client);
  if (was_last && !InForkedChild()) wrapped->registry->ReleaseIdleMemory();
  return error;
}

PJRT_Error* DeviceMemoryStats(PJRT_Device_MemoryStats_Args* args) {
  ServedDevice* served = wrapped->registry->Find(OrdinalOf(wrapped->stock, args->device));
  if (served == nullptr || !served->is_verified() || InForkedChild()) {
    return wrapped->stock.PJRT_Device_MemoryStats(args);
  }
  const Status answered = TakeError(wrapped->stock, wrapped->stock.PJRT_Device_MemoryStats(args));
  if (!answered.ok()) ClearMemoryStats(args);
  WriteMemoryStats(*served->allocator().GetStats(), args);
  return nullptr;
}

// An error about memory that ran out also says what we know about it, inside the exception that the user sees.
void ErrorMessage(PJRT_Error_Message_Args* args) {
  wrapped->stock.PJRT_Error_Message(args);
  if (!TellsOfExhaustion(std::string(args->message, args->message_size))) return;
  const std::string story = Refusals::Instance().last();
  if (!story.empty()) wrapped->texts.Append(story, args);
}

void ErrorDestroy(PJRT_Error_Destroy_Args* args) {
  wrapped->texts.Forget(args->error);
  wrapped->stock.PJRT_Error_Destroy(args);
}

template <typename Function>
Status Replace(Function** entry, Function* ours) {
  StatusOr<WritablePage> page = WritablePage::Open(entry);
  if (!page.ok()) return page.status();
  __atomic_store_n(entry, ours, __ATOMIC_RELEASE);
  return OkStatus();
}

void Restore(PJRT_Api* api) {
  Replace(&api->PJRT_Error_Message, wrapped->stock.PJRT_Error_Message).IgnoreError();
  Replace(&api->PJRT_Error_Destroy, wrapped->stock.PJRT_Error_Destroy).IgnoreError();
  Replace(&api->PJRT_Client_Create, wrapped->stock.PJRT_Client_Create).IgnoreError();
  Replace(&api->PJRT_Client_Destroy, wrapped->stock.PJRT_Client_Destroy).IgnoreError();
  Replace(&api->PJRT_Device_MemoryStats, wrapped->stock.PJRT_Device_MemoryStats).IgnoreError();
}

Status NotUnderstood(const std::string& what) {
  return Status(StatusCode::kNotSupported, "the CUDA plugin's PJRT table " + what + "; this jaxlib is not supported");
}

// The entries that we call or replace.
bool IsComplete(const PJRT_Api& api) {
  const void* const entries[] = {
      reinterpret_cast<void*>(api.PJRT_Error_Message),
      reinterpret_cast<void*>(api.PJRT_Error_Destroy),
      reinterpret_cast<void*>(api.PJRT_Event_Await),
      reinterpret_cast<void*>(api.PJRT_Event_Destroy),
      reinterpret_cast<void*>(api.PJRT_Client_Create),
      reinterpret_cast<void*>(api.PJRT_Client_Destroy),
      reinterpret_cast<void*>(api.PJRT_Client_AddressableDevices),
      reinterpret_cast<void*>(api.PJRT_Client_BufferFromHostBuffer),
      reinterpret_cast<void*>(api.PJRT_Device_LocalHardwareId),
      reinterpret_cast<void*>(api.PJRT_Device_MemoryStats),
      reinterpret_cast<void*>(api.PJRT_Buffer_Destroy),
      reinterpret_cast<void*>(api.PJRT_Buffer_ReadyEvent),
  };
  return std::none_of(std::begin(entries), std::end(entries), [](const void* entry) { return entry == nullptr; });
}

}  // namespace

Status CheckTable(const PJRT_Api* api) {
  if (api == nullptr) return NotUnderstood("is missing");
  if (api->struct_size < kTableBytesUsed) return NotUnderstood("is too small");
  const PJRT_Api_Version& version = api->pjrt_api_version;
  if (version.major_version != PJRT_API_MAJOR) {
    return NotUnderstood("has version " + std::to_string(version.major_version) + "." +
                         std::to_string(version.minor_version));
  }
  return IsComplete(*api) ? OkStatus() : NotUnderstood("lacks entries");
}

Status WrapTable(PJRT_Api* api, DeviceRegistry* registry, Activity* activity) {
  wrapped = new Wrapped;
  std::memcpy(&wrapped->stock, api, std::min(api->struct_size, sizeof(PJRT_Api)));
  wrapped->registry = registry;
  wrapped->activity = activity;
  for (const Status& replaced : {Replace(&api->PJRT_Error_Destroy, &ErrorDestroy),
                                 Replace(&api->PJRT_Error_Message, &ErrorMessage),
                                 Replace(&api->PJRT_Client_Create, &CreateClient),
                                 Replace(&api->PJRT_Client_Destroy, &DestroyClient),
                                 Replace(&api->PJRT_Device_MemoryStats, &DeviceMemoryStats)}) {
    if (replaced.ok()) continue;
    Restore(api);
    return replaced;
  }
  return OkStatus();
}

}  // namespace gmlake
