#include "cc/pjrt/oom/origin_entries.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "cc/pjrt/gates/gated_entries.h"
#include "cc/pjrt/oom/origins.h"
#include "cc/pjrt/plugin/error_maker.h"
#include "cc/pjrt/plugin/known_plugin_abi.h"

namespace gmlake {
namespace {

// Set once, before the first entry is replaced.
struct NextEntries {
  explicit NextEntries(const PJRT_Api& table) : next(CopyOf(table)) {}

  const PJRT_Api next;  // the table as it was before ours came in
  Origins origins;
};

NextEntries* next_entries = nullptr;

// The device of the event whose callback runs on this thread; -1: none does.
thread_local int device_of_callback = -1;

// With one device there is nothing to tell apart.
bool IsWorthwhile() { return gated->registry->num_devices() > 1; }

void NoteEvent(const PJRT_Event* event, int device) {
  if (event != nullptr && device >= 0) next_entries->origins.Note(event, device);
}

void NoteEventOf(const PJRT_Event* event, PJRT_Buffer* buffer) {
  if (IsWorthwhile()) NoteEvent(event, gated->plugin->OrdinalOf(gated->plugin->DeviceOf(buffer)));
}

PJRT_Error* ReadyEvent(PJRT_Buffer_ReadyEvent_Args* args) {
  PJRT_Error* const error = next_entries->next.PJRT_Buffer_ReadyEvent(args);
  if (error == nullptr) Attempt([&] { NoteEventOf(args->event, args->buffer); });
  return error;
}

PJRT_Error* ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args* args) {
  PJRT_Error* const error = next_entries->next.PJRT_Buffer_ToHostBuffer(args);
  if (error == nullptr && args->dst != nullptr) Attempt([&] { NoteEventOf(args->event, args->src); });
  return error;
}

void NoteCompletion(const PJRT_LoadedExecutable_Execute_Args& args) {
  if (args.device_complete_events == nullptr || !IsWorthwhile()) return;
  const Devices devices =
      args.execute_device != nullptr ? Devices{args.execute_device} : gated->plugin->DevicesOf(args.executable);
  const std::vector<int> ordinals = gated->plugin->OrdinalsOf(devices);
  for (size_t i = 0; i < std::min(ordinals.size(), args.num_devices); ++i) {
    NoteEvent(args.device_complete_events[i], ordinals[i]);
  }
}

PJRT_Error* Execute(PJRT_LoadedExecutable_Execute_Args* args) {
  PJRT_Error* const error = next_entries->next.PJRT_LoadedExecutable_Execute(args);
  if (error == nullptr) Attempt([&] { NoteCompletion(*args); });
  return error;
}

// An error that an event gives is about the event's device.
template <auto kEntry, typename Args>
PJRT_Error* ErrorOfEvent(Args* args) {
  const std::optional<int> device = next_entries->origins.DeviceOf(args->event);
  PJRT_Error* const error = (next_entries->next.*kEntry)(args);
  if (error == nullptr || !device.has_value()) return error;
  Origin origin;
  Attempt([&] {
    origin.devices = {*device};
    next_entries->origins.Note(error, origin);
  });
  return error;
}

struct Waiting {
  int device;
  PJRT_Event_OnReadyCallback callback;
  void* user_arg;
};

void TellWaiting(PJRT_Error* error, void* user_arg) {
  const std::unique_ptr<Waiting> waiting(static_cast<Waiting*>(user_arg));
  const int outer = device_of_callback;
  device_of_callback = waiting->device;
  waiting->callback(error, waiting->user_arg);
  device_of_callback = outer;
}

PJRT_Error* OnReady(PJRT_Event_OnReady_Args* args) {
  const std::optional<int> device = next_entries->origins.DeviceOf(args->event);
  if (!device.has_value()) return next_entries->next.PJRT_Event_OnReady(args);
  auto waiting = std::make_unique<Waiting>(Waiting{*device, args->callback, args->user_arg});
  PJRT_Event_OnReady_Args ours = *args;
  ours.callback = ExceptionBarrier<&TellWaiting, AnswerAsPjrt>::Wrap().get();
  ours.user_arg = waiting.get();
  PJRT_Error* const error = next_entries->next.PJRT_Event_OnReady(&ours);
  if (error == nullptr) waiting.release();  // the callback has it
  return error;
}

PJRT_Error* DestroyEvent(PJRT_Event_Destroy_Args* args) {
  next_entries->origins.Forget(args->event);
  return next_entries->next.PJRT_Event_Destroy(args);
}

}  // namespace

Status WrapOriginEntries(PJRT_Api* api, TableEdit* edit) {
  next_entries = new NextEntries(*api);
  return FirstFailure({ReplaceIfThere(api, edit, &PJRT_Api::PJRT_Event_Destroy, FencedEntry<&DestroyEvent>()),
                       ReplaceIfThere(api, edit, &PJRT_Api::PJRT_Event_Await,
                                      FencedEntry<&ErrorOfEvent<&PJRT_Api::PJRT_Event_Await, PJRT_Event_Await_Args>>()),
                       ReplaceIfThere(api, edit, &PJRT_Api::PJRT_Event_Error,
                                      FencedEntry<&ErrorOfEvent<&PJRT_Api::PJRT_Event_Error, PJRT_Event_Error_Args>>()),
                       ReplaceIfThere(api, edit, &PJRT_Api::PJRT_Event_OnReady, FencedEntry<&OnReady>()),
                       ReplaceIfThere(api, edit, &PJRT_Api::PJRT_LoadedExecutable_Execute, FencedEntry<&Execute>()),
                       ReplaceIfThere(api, edit, &PJRT_Api::PJRT_Buffer_ToHostBuffer, FencedEntry<&ToHostBuffer>()),
                       ReplaceIfThere(api, edit, &PJRT_Api::PJRT_Buffer_ReadyEvent, FencedEntry<&ReadyEvent>())});
}

void NoteOrigin(const PJRT_Error* error, const Origin& origin) { next_entries->origins.Note(error, origin); }

Origin OriginOf(const PJRT_Error* error) {
  Origin unknown;
  if (device_of_callback >= 0) unknown.devices = {device_of_callback};
  return next_entries->origins.Of(error).value_or(unknown);
}

void ForgetOrigin(const PJRT_Error* error) { next_entries->origins.Forget(error); }

}  // namespace gmlake
