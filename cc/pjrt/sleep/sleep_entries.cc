#include "cc/pjrt/sleep/sleep_entries.h"

#include <cstdio>
#include <utility>

#include "cc/base/mutex.h"
#include "cc/pjrt/gates/gated_entries.h"
#include "cc/pjrt/oom/oom_tracker.h"
#include "cc/pjrt/oom/origin_entries.h"
#include "cc/pjrt/plugin/error_maker.h"
#include "cc/pjrt/plugin/known_plugin_abi.h"
#include "cc/pjrt/sleep/cross_host_entries.h"
#include "cc/pjrt/sleep/sleeping_reader.h"

namespace gmlake {
namespace {

constexpr size_t kMostListed = 8;  // shared buffers named in one message

Devices EitherOf(PJRT_Device* device, PJRT_Memory* memory) {
  return device != nullptr ? Devices{device} : gated->plugin->DevicesOf(memory);
}

// The devices that each call would touch.
Devices Touched(const PJRT_LoadedExecutable_Execute_Args& args) {
  return args.execute_device != nullptr ? Devices{args.execute_device} : gated->plugin->DevicesOf(args.executable);
}
Devices Touched(const PJRT_Buffer_CopyRawToHost_Args& args) { return {gated->plugin->DeviceOf(args.buffer)}; }
Devices Touched(const PJRT_Buffer_CopyRawToHostFuture_Args& args) { return {gated->plugin->DeviceOf(args.buffer)}; }
Devices Touched(const PJRT_Buffer_IncreaseExternalReferenceCount_Args& args) {
  return {gated->plugin->DeviceOf(args.buffer)};
}
Devices Touched(const PJRT_Buffer_CopyToDevice_Args& args) {
  return {gated->plugin->DeviceOf(args.buffer), args.dst_device};
}
Devices Touched(const PJRT_Buffer_CopyToMemory_Args& args) {
  Devices devices = gated->plugin->DevicesOf(args.dst_memory);
  devices.push_back(gated->plugin->DeviceOf(args.buffer));
  return devices;
}
Devices Touched(const PJRT_Client_BufferFromHostBuffer_Args& args) { return EitherOf(args.device, args.memory); }
Devices Touched(const PJRT_Client_CreateUninitializedBuffer_Args& args) { return EitherOf(args.device, args.memory); }
Devices Touched(const PJRT_Client_CreateViewOfDeviceBuffer_Args& args) { return EitherOf(args.device, args.memory); }
Devices Touched(const PJRT_Client_CreateBuffersForAsyncHostToDevice_Args& args) {
  return gated->plugin->DevicesOf(args.memory);
}
Devices Touched(const PJRT_AsyncHostToDeviceTransferManager_TransferData_Args& args) {
  return gated->plugin->DevicesOf(args.transfer_manager);
}
Devices Touched(const PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args& args) {
  return gated->plugin->DevicesOf(args.transfer_manager);
}
// Which device a program is compiled for is in options that we cannot read. On one that sleeps, the allocator refuses.
Devices Touched(const PJRT_Client_Compile_Args&) { return {}; }
Devices Touched(const PJRT_Compile_Args&) { return {}; }
Devices Touched(const PJRT_Executable_DeserializeAndLoad_Args&) { return {}; }

// What a call that has succeeded leaves to be done; most leave nothing that a stream does not show.
template <typename Args>
void Follow(const Args&) {}
void Follow(const PJRT_Buffer_ToHostBuffer_Args& args) {
  gated->transfers.Watch(args.event, gated->plugin->OrdinalsOf({gated->plugin->DeviceOf(args.src)}));
}
void Follow(const PJRT_Buffer_CopyRawToHost_Args& args) {
  gated->transfers.Watch(args.event, gated->plugin->OrdinalsOf(Touched(args)));
}
void Follow(const PJRT_Buffer_CopyRawToHostFuture_Args& args) {
  gated->transfers.Watch(args.event, gated->plugin->OrdinalsOf(Touched(args)));
}
void Follow(const PJRT_Buffer_CopyToDevice_Args& args) {
  gated->transfers.WatchBuffer(args.dst_buffer, gated->plugin->OrdinalsOf(Touched(args)));
}
void Follow(const PJRT_Buffer_CopyToMemory_Args& args) {
  gated->transfers.WatchBuffer(args.dst_buffer, gated->plugin->OrdinalsOf(Touched(args)));
}
void Follow(const PJRT_Client_BufferFromHostBuffer_Args& args) {
  gated->transfers.WatchBuffer(args.buffer, gated->plugin->OrdinalsOf({gated->plugin->DeviceOf(args.buffer)}));
}
void Follow(const PJRT_AsyncHostToDeviceTransferManager_TransferData_Args& args) {
  gated->transfers.Watch(args.done_with_h2d_transfer, gated->plugin->OrdinalsOf(Touched(args)));
}
void Follow(const PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args& args) {
  gated->transfers.Watch(args.done_with_h2d_transfer, gated->plugin->OrdinalsOf(Touched(args)));
}

// A copy that is under way all the same, and of whose end we shall not hear.
template <typename Args>
void FollowOrLose(const Args& args) {
  if (!Attempt([&] { Follow(args); })) gated->lost_a_copy.store(true);
}

// A buffer that is in error already gives its error to what is made of it.
template <typename Args>
constexpr bool kWorksOnBuffers = false;
template <>
constexpr bool kWorksOnBuffers<PJRT_LoadedExecutable_Execute_Args> = true;
template <>
constexpr bool kWorksOnBuffers<PJRT_Buffer_CopyToDevice_Args> = true;
template <>
constexpr bool kWorksOnBuffers<PJRT_Buffer_CopyToMemory_Args> = true;
template <>
constexpr bool kWorksOnBuffers<PJRT_Buffer_CopyRawToHost_Args> = true;
template <>
constexpr bool kWorksOnBuffers<PJRT_Buffer_CopyRawToHostFuture_Args> = true;

template <typename Args>
void NoteFailure(const PJRT_Error* error, const OomTracker::Call& call, const Args& args) {
  Origin origin = call.origin();
  origin.devices = gated->plugin->OrdinalsOf(Touched(args));
  origin.may_be_older = kWorksOnBuffers<Args>;
  NoteOrigin(error, origin);
}

template <auto kEntry, typename Args>
PJRT_Error* Guarded(Args* args) {
  const OomTracker::Call call;
  return PassGate([args] { return Touched(*args); },
                  [&] {
                    PJRT_Error* const error = (gated->plugin->stock().*kEntry)(args);
                    if (error == nullptr) FollowOrLose(*args);
                    if (error != nullptr) Attempt([&] { NoteFailure(error, call, *args); });
                    return error;
                  });
}

// An entry that is newer than our header, of whose arguments we read nothing. It loads a program that was compiled.
using Load = PJRT_Error*(void* args);
Load* stock_load = nullptr;

PJRT_Error* GuardedLoad(void* args) {
  return PassGate([] { return Devices(); }, [args] { return stock_load(args); });
}

PJRT_Error* StockToHostBuffer(PJRT_Buffer_ToHostBuffer_Args* args) {
  PJRT_Error* const error = gated->plugin->stock().PJRT_Buffer_ToHostBuffer(args);
  if (error == nullptr && args->dst != nullptr) FollowOrLose(*args);
  return error;
}

// What is read is on the host already. Asking for the size alone touches no device.
PJRT_Error* ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args* args) {
  const SleepGate::Passage passage(&gated->gate);
  if (passage.all_open() || args->dst == nullptr) return StockToHostBuffer(args);
  const int ordinal = gated->plugin->OrdinalOf(gated->plugin->DeviceOf(args->src));
  if (!gated->gate.is_closed(ordinal)) return StockToHostBuffer(args);
  ServedDevice* const served = gated->registry->Find(ordinal);
  if (served != nullptr && ReadSleeping(*gated->plugin, served, args)) return nullptr;
  return RefusalOf(ordinal);
}

PJRT_Error* IncreaseReferences(PJRT_Buffer_IncreaseExternalReferenceCount_Args* args) {
  gated->shared.Add(args->buffer);
  PJRT_Error* const error = Guarded<&PJRT_Api::PJRT_Buffer_IncreaseExternalReferenceCount>(args);
  if (error != nullptr) gated->shared.Drop(args->buffer);
  return error;
}

PJRT_Error* DecreaseReferences(PJRT_Buffer_DecreaseExternalReferenceCount_Args* args) {
  gated->shared.Drop(args->buffer);
  return gated->plugin->stock().PJRT_Buffer_DecreaseExternalReferenceCount(args);
}

Status PutLoad(PJRT_Api* api, TableEdit* edit) {
  auto** const entry = reinterpret_cast<Load**>(EntryAt(api, kClientLoad));
  if (entry == nullptr || *entry == nullptr) return OkStatus();
  stock_load = *entry;
  return edit->Replace(entry, FencedEntry<&GuardedLoad>());
}

std::string Hexadecimal(Address address) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(address.value()));
  return text;
}

Status SharedWithOthers(ServedDevice* device, const std::vector<Address>& addresses) {
  std::string text = std::to_string(addresses.size()) + " buffers are shared with another library (dlpack):";
  for (size_t i = 0; i < addresses.size() && i < kMostListed; ++i) {
    const Bytes size = device->core().RequestedSize(addresses[i]).value_or(Bytes());
    text += (i == 0 ? " " : ", ") + ToString(size) + " at " + Hexadecimal(addresses[i]);
  }
  if (addresses.size() > kMostListed) text += ", ...";
  return Status(StatusCode::kFailedPrecondition, text + "; delete what was made of them and try again");
}

Status LostACopy() {
  return Status(StatusCode::kFailedPrecondition,
                "the host had no memory to keep track of a copy, so it is not known when the device is idle; start the "
                "program again to use sleep()");
}

}  // namespace

void PrepareSleepEntries(const PluginClient* plugin, DeviceRegistry* registry, ErrorTexts* texts) {
  gated = new GatedEntries(plugin, registry, texts);
}

Status WrapSleepEntries(PJRT_Api* api, TableEdit* edit) {
  gated->all_known = CheckAllKnown(*api);
#define GMLAKE_DOOR(name) \
  ReplaceIfThere(api, edit, &PJRT_Api::name, FencedEntry<&Guarded<&PJRT_Api::name, name##_Args>>())
  return FirstFailure(
      {GMLAKE_DOOR(PJRT_LoadedExecutable_Execute),
       ReplaceIfThere(api, edit, &PJRT_Api::PJRT_Buffer_ToHostBuffer, FencedEntry<&ToHostBuffer>()),
       GMLAKE_DOOR(PJRT_Buffer_CopyRawToHost), GMLAKE_DOOR(PJRT_Buffer_CopyRawToHostFuture),
       GMLAKE_DOOR(PJRT_Buffer_CopyToDevice), GMLAKE_DOOR(PJRT_Buffer_CopyToMemory),
       GMLAKE_DOOR(PJRT_Client_BufferFromHostBuffer), GMLAKE_DOOR(PJRT_Client_CreateUninitializedBuffer),
       GMLAKE_DOOR(PJRT_Client_CreateViewOfDeviceBuffer), GMLAKE_DOOR(PJRT_Client_CreateBuffersForAsyncHostToDevice),
       GMLAKE_DOOR(PJRT_AsyncHostToDeviceTransferManager_TransferData),
       GMLAKE_DOOR(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral), GMLAKE_DOOR(PJRT_Client_Compile),
       GMLAKE_DOOR(PJRT_Compile), GMLAKE_DOOR(PJRT_Executable_DeserializeAndLoad), PutLoad(api, edit),
       ReplaceIfThere(api, edit, &PJRT_Api::PJRT_Buffer_IncreaseExternalReferenceCount,
                      FencedEntry<&IncreaseReferences>()),
       ReplaceIfThere(api, edit, &PJRT_Api::PJRT_Buffer_DecreaseExternalReferenceCount,
                      FencedEntry<&DecreaseReferences>()),
       WrapCrossHostEntries(api, edit)});
#undef GMLAKE_DOOR
}

std::vector<Address> SharedAddresses(ServedDevice* device) {
  std::vector<Address> addresses;
  for (PJRT_Buffer* buffer : gated->shared.All()) {
    const Address address = gated->plugin->AddressOf(buffer);
    if (device->core().Owns(address)) addresses.push_back(address);
  }
  return addresses;
}

// One at a time: a call that fails opens the gate again, and must not open one that another call is just closing.
StatusOr<SleepReport> SleepDevice(ServedDevice* device, const SleepRequest& request) {
  if (!gated->all_known.ok()) return gated->all_known;
  if (gated->lost_a_copy.load()) return LostACopy();
  const MutexLock lock(&device->sleep_mutex());
  if (device->core().IsAsleep()) return Status(StatusCode::kFailedPrecondition, "the device is asleep already");
  GMLAKE_RETURN_IF_ERROR(gated->gate.Close(device->ordinal(), request.patience));
  const std::vector<Address> shared = SharedAddresses(device);
  StatusOr<SleepReport> report =
      shared.empty() ? device->core().Sleep(request) : StatusOr<SleepReport>(SharedWithOthers(device, shared));
  if (!device->core().IsAsleep()) gated->gate.Open(device->ordinal());
  return report;
}

StatusOr<SleepReport> WakeDevice(ServedDevice* device) {
  const MutexLock lock(&device->sleep_mutex());
  StatusOr<SleepReport> report = device->core().Wake();
  if (report.ok()) gated->gate.Open(device->ordinal());
  return report;
}

void WakeAll() {
  for (ServedDevice* device : gated->registry->Devices()) WakeDevice(device).status().IgnoreError();
}

}  // namespace gmlake
