#include "cc/pjrt/entries/table_entries.h"

#include <set>
#include <string>

#include "cc/base/mutex.h"
#include "cc/pjrt/entries/verification.h"
#include "cc/pjrt/oom/oom_tracker.h"
#include "cc/pjrt/oom/origin_entries.h"
#include "cc/pjrt/patch/fork_guard.h"
#include "cc/pjrt/plugin/client_options.h"
#include "cc/pjrt/plugin/error_maker.h"
#include "cc/pjrt/plugin/error_texts.h"
#include "cc/pjrt/plugin/memory_stats.h"
#include "cc/pjrt/sleep/sleep_entries.h"

namespace gmlake {
namespace {

// State of the replaced entries, which are C functions. Set once, before the first entry is replaced.
struct Wrapped {
  const PluginClient* plugin = nullptr;
  DeviceRegistry* registry = nullptr;
  Activity* activity = nullptr;

  ErrorTexts texts;

  Mutex mutex;
  std::set<PJRT_Client*> clients GMLAKE_GUARDED_BY(mutex);  // those that were created through us
};

Wrapped* wrapped = nullptr;

// Everything that speaks against serving this client, found out before anything is changed.
Status PrepareToServe(const ClientOptions& options) {
  if (InForkedChild()) {
    return Status(StatusCode::kFailedPrecondition, "this process was forked from one that uses the GPU");
  }
  const std::string allocator = options.RequestedAllocator();
  if (!allocator.empty() && allocator != "cuda_async") {
    return Status(StatusCode::kInvalidArgument,
                  "the client was created with allocator=" + allocator + "; drop that option to use gmlake_jax");
  }
  return wrapped->registry->Serve(options.VisibleDevices(), {options.MemoryFraction(), options.Preallocate()});
}

// The real call, with options of ours in place of the caller's for as long as it lasts.
PJRT_Error* CreateWith(const ClientOptions& options, PJRT_Client_Create_Args* args) {
  const PJRT_NamedValue* const callers_options = args->create_options;
  const size_t callers_count = args->num_options;
  args->create_options = options.data();
  args->num_options = options.size();
  PJRT_Error* error = wrapped->plugin->stock().PJRT_Client_Create(args);
  args->create_options = callers_options;
  args->num_options = callers_count;
  return error;
}

void Announce(const Status& verified) {
  if (!verified.ok()) return wrapped->activity->StepAside(verified.message());
  std::string line = "active";
  for (const ServedDevice* device : wrapped->registry->Devices()) line += "; " + device->Describe();
  wrapped->activity->Set(line);
}

// XLA bypasses us for this client, so it is created again with the caller's own options.
PJRT_Error* CreateAnew(PJRT_Client_Create_Args* args) {
  PJRT_Error* const error = wrapped->plugin->Destroy(args->client);
  wrapped->registry->ReleaseIdleMemory();
  return error != nullptr ? error : wrapped->plugin->stock().PJRT_Client_Create(args);
}

void Remember(PJRT_Client* client) {
  const MutexLock lock(&wrapped->mutex);
  wrapped->clients.insert(client);
}

// True if `client` was created through us and no other such client is left.
bool ForgetWasLast(PJRT_Client* client) {
  const MutexLock lock(&wrapped->mutex);
  return wrapped->clients.erase(client) > 0 && wrapped->clients.empty();
}

// An exception in `step()` as a failure of it.
template <typename Step>
Status Reported(Step step) {
  return Guard(step, [](const char* what) {
    return Status(StatusCode::kOutOfMemory, std::string("the host has not enough memory for it (") + what + ")");
  });
}

PJRT_Error* CreateClient(PJRT_Client_Create_Args* args) {
  ClientOptions options(args->create_options, args->num_options);
  const Status prepared = Reported([&] { return PrepareToServe(options); });
  if (!prepared.ok()) {
    wrapped->activity->StepAside(prepared.message());
    return wrapped->plugin->stock().PJRT_Client_Create(args);
  }
  options.SetString("allocator", "cuda_async");
  options.SetBool("preallocate", false);
  PJRT_Error* error = CreateWith(options, args);
  if (error != nullptr) return error;
  const Status verified = Reported([&] { return VerifyClient(*wrapped->plugin, args->client, wrapped->registry); });
  Attempt([&] { Announce(verified); });
  if (!verified.ok()) return CreateAnew(args);
  Attempt([&] { Remember(args->client); });
  return nullptr;
}

void Retire() {
  WakeAll();  // opens the gate for the next client; nothing uses the memory any more
  wrapped->registry->Retire();
}

PJRT_Error* DestroyClient(PJRT_Client_Destroy_Args* args) {
  PJRT_Error* error = wrapped->plugin->stock().PJRT_Client_Destroy(args);
  const bool was_last = error == nullptr && ForgetWasLast(args->client);
  if (was_last && !InForkedChild()) Attempt(&Retire);
  return error;
}

PJRT_Error* DeviceMemoryStats(PJRT_Device_MemoryStats_Args* args) {
  ServedDevice* served = wrapped->registry->Find(wrapped->plugin->OrdinalOf(args->device));
  if (served == nullptr || !served->is_verified() || InForkedChild()) {
    return wrapped->plugin->stock().PJRT_Device_MemoryStats(args);
  }
  const Status answered = wrapped->plugin->TakeError(wrapped->plugin->stock().PJRT_Device_MemoryStats(args));
  if (!answered.ok()) ClearMemoryStats(args);
  WriteMemoryStats(*served->allocator().GetStats(), args);
  return nullptr;
}

// An error about memory that ran out also says what we know about it, inside the exception that the user sees.
void ErrorMessage(PJRT_Error_Message_Args* args) {
  if (wrapped->texts.Answer(args)) return;
  args->message = "";
  args->message_size = 0;
  wrapped->plugin->stock().PJRT_Error_Message(args);
  const std::string text(args->message, args->message_size);
  if (!TellsOfExhaustion(text) || wrapped->texts.Repeat(args)) return;
  const std::string story = OomTracker::Instance().Claim(text, OriginOf(args->error));
  if (!story.empty()) wrapped->texts.Append(story, args);
}

PJRT_Error* ErrorGetCode(PJRT_Error_GetCode_Args* args) {
  PJRT_Error* const error = wrapped->plugin->stock().PJRT_Error_GetCode(args);
  if (error == nullptr) args->code = wrapped->texts.CodeOf(args->error).value_or(args->code);
  return error;
}

void ErrorDestroy(PJRT_Error_Destroy_Args* args) {
  if (IsSpareError(args->error)) return;
  wrapped->texts.Forget(args->error);
  ForgetOrigin(args->error);
  wrapped->plugin->stock().PJRT_Error_Destroy(args);
}

}  // namespace

Status PrepareEntries(const PluginClient* plugin, DeviceRegistry* registry, Activity* activity) {
  wrapped = new Wrapped;
  wrapped->plugin = plugin;
  wrapped->registry = registry;
  wrapped->activity = activity;
  PrepareSleepEntries(plugin, registry, &wrapped->texts);
  return PrepareErrors(*plugin, &wrapped->texts);
}

Status WrapEntries(PJRT_Api* api, TableEdit* edit) {
  return FirstFailure({edit->Replace(&api->PJRT_Error_Destroy, FencedEntry<&ErrorDestroy>()),
                       edit->Replace(&api->PJRT_Error_Message, FencedEntry<&ErrorMessage>()),
                       edit->Replace(&api->PJRT_Error_GetCode, FencedEntry<&ErrorGetCode>()),
                       edit->Replace(&api->PJRT_Client_Create, FencedEntry<&CreateClient>()),
                       edit->Replace(&api->PJRT_Client_Destroy, FencedEntry<&DestroyClient>()),
                       edit->Replace(&api->PJRT_Device_MemoryStats, FencedEntry<&DeviceMemoryStats>())});
}

}  // namespace gmlake
