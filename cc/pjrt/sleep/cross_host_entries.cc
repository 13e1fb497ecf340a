#include "cc/pjrt/sleep/cross_host_entries.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/pjrt/gates/gated_entries.h"
#include "cc/pjrt/plugin/error_maker.h"
#include "cc/pjrt/plugin/known_plugin_abi.h"

namespace gmlake {
namespace {

// The arguments, as far as we read them. `unread` is what stands between, whose meaning is the caller's and the
// plugin's.
struct Begin {
  size_t struct_size;
  PJRT_Extension_Base* extension_start;
};
struct SendArgs {
  Begin begin;
  PJRT_Client* client;
  size_t num_buffers;
  PJRT_Buffer** buffers;
  const void* unread[2];
  PJRT_Event** send_events;  // out
};
struct ReceiveArgs {
  Begin begin;
  PJRT_Client* client;
  size_t num_buffers;
  const void* unread[4];
  PJRT_Device* device;
  const void* unread_too[2];
  PJRT_Buffer** buffers;  // out
};
struct ReceiveByDescriptorArgs {
  Begin begin;
  PJRT_Client* client;
  size_t num_shapes;
  const void* unread[4];
  PJRT_Device* device;
  const void* unread_too[2];
  PJRT_Buffer** buffers;  // out
  size_t num_buffers;     // out
};
using WhenSent = void (*)(PJRT_Error* error, bool was_enqueued, void* user_arg);
struct Callback {
  void* user_arg;
  WhenSent when_sent;
};
struct SendByDescriptorArgs {
  Begin begin;
  PJRT_Buffer* buffer;
  const void* unread[3];
  Callback callback;
};

struct CrossHostExtension {
  PJRT_Extension_Base base;
  PJRT_Error* (*receive_by_descriptor)(ReceiveByDescriptorArgs* args);
  void (*send_by_descriptor)(SendByDescriptorArgs* args);
  PJRT_Error* (*receive)(ReceiveArgs* args);
  PJRT_Error* (*send)(SendArgs* args);
};

CrossHostExtension stock_entries = {};

void WatchAll(PJRT_Buffer** buffers, size_t count, PJRT_Device* device) {
  const std::vector<int> ordinals = gated->plugin->OrdinalsOf({device});
  for (size_t i = 0; i < count; ++i) gated->transfers.WatchBuffer(buffers[i], ordinals);
}

template <auto kEntry, typename Args>
PJRT_Error* Receive(Args* args) {
  return PassGate([&] { return Devices{args->device}; },
                  [&] {
                    PJRT_Error* const error = (stock_entries.*kEntry)(args);
                    const auto watch = [&] { WatchAll(args->buffers, args->num_buffers, args->device); };
                    if (error == nullptr && !Attempt(watch)) gated->lost_a_copy.store(true);
                    return error;
                  });
}

Devices Senders(const SendArgs& args) {
  Devices devices;
  for (size_t i = 0; i < args.num_buffers; ++i) devices.push_back(gated->plugin->DeviceOf(args.buffers[i]));
  return devices;
}

PJRT_Error* Send(SendArgs* args) {
  return PassGate([&] { return Senders(*args); },
                  [&] {
                    const std::vector<int> ordinals = gated->plugin->OrdinalsOf(Senders(*args));
                    PJRT_Error* const error = stock_entries.send(args);
                    const auto watch = [&] {
                      for (size_t i = 0; i < args->num_buffers; ++i) {
                        gated->transfers.Watch(args->send_events[i], {ordinals[i]});
                      }
                    };
                    if (error == nullptr && !Attempt(watch)) gated->lost_a_copy.store(true);
                    return error;
                  });
}

// A send that tells by a callback, not by an event, that it is over.
struct Sending {
  Callback callers;
  std::vector<int> ordinals;
};

void EndSending(PJRT_Error* error, bool was_enqueued, void* user_arg) {
  const std::unique_ptr<Sending> sending(static_cast<Sending*>(user_arg));
  sending->callers.when_sent(error, was_enqueued, sending->callers.user_arg);
  for (int ordinal : sending->ordinals) gated->gate.EndTransfer(ordinal);
}

// It answers through the callback alone, so that is how it is refused.
void Refuse(SendByDescriptorArgs* args, PJRT_Error* refusal) {
  args->callback.when_sent(refusal, /*was_enqueued=*/false, args->callback.user_arg);
  if (IsSpareError(refusal)) return;
  gated->texts->Forget(refusal);
  gated->plugin->Destroy(refusal);
}

void StartSending(const SendByDescriptorArgs& args, Sending* sending) {
  for (int ordinal : sending->ordinals) gated->gate.BeginTransfer(ordinal);
  SendByDescriptorArgs ours = args;
  ours.callback = {sending, ExceptionBarrier<&EndSending, AnswerAsPjrt>::Wrap().get()};
  stock_entries.send_by_descriptor(&ours);
}

void SendByDescriptor(SendByDescriptorArgs* args) {
  const auto touched = [&] { return Devices{gated->plugin->DeviceOf(args->buffer)}; };
  Sending* sending = nullptr;
  const auto prepare = [&]() -> PJRT_Error* {
    sending = new Sending{args->callback, gated->plugin->OrdinalsOf(touched())};
    return nullptr;
  };
  PJRT_Error* const refused = PassGate(touched, [&] {
    PJRT_Error* const unprepared = Guard(prepare, &ErrorOfException);
    if (unprepared == nullptr) StartSending(*args, sending);
    return unprepared;
  });
  if (refused != nullptr) Refuse(args, refused);
}

}  // namespace

Status WrapCrossHostEntries(PJRT_Api* api, TableEdit* edit) {
  PJRT_Extension_Base* const found = FindExtension(*api, kCrossHostTransfers);
  if (found == nullptr || found->struct_size < sizeof(CrossHostExtension)) return OkStatus();
  auto* const extension = reinterpret_cast<CrossHostExtension*>(found);
  stock_entries = *extension;
  return FirstFailure(
      {edit->Replace(&extension->receive_by_descriptor,
                     FencedEntry<&Receive<&CrossHostExtension::receive_by_descriptor, ReceiveByDescriptorArgs>>()),
       edit->Replace(&extension->send_by_descriptor, FencedEntry<&SendByDescriptor>()),
       edit->Replace(&extension->receive, FencedEntry<&Receive<&CrossHostExtension::receive, ReceiveArgs>>()),
       edit->Replace(&extension->send, FencedEntry<&Send>())});
}

}  // namespace gmlake
