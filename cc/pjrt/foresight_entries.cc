#include "cc/pjrt/foresight_entries.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "cc/pjrt/error_maker.h"
#include "cc/pjrt/fork_guard.h"
#include "cc/pjrt/plugin_client.h"

namespace gmlake {
namespace {

constexpr Bytes kWorthwhile = MiB(8);  // smaller requests need few mappings, if any

// What stands behind the two entries. Set once, before the first is replaced.
struct Behind {
  PJRT_Api stock = {};
  DeviceRegistry* registry = nullptr;
  PJRT_Client_Compile* compile = nullptr;
  PJRT_Executable_DeserializeAndLoad* load = nullptr;
};

Behind* behind = nullptr;

// All temporary memory of a run is one request. Zero where the plugin does not tell.
Bytes TemporaryBytes(PJRT_Executable* executable) {
  PJRT_Executable_GetCompiledMemoryStats_Args args = {};
  args.struct_size = PJRT_Executable_GetCompiledMemoryStats_Args_STRUCT_SIZE;
  args.executable = executable;
  const Status told = TakeError(behind->stock, behind->stock.PJRT_Executable_GetCompiledMemoryStats(&args));
  return told.ok() ? Bytes(args.temp_size_in_bytes) : Bytes(0);
}

Bytes TemporaryBytes(PJRT_LoadedExecutable* loaded) {
  const StatusOr<PJRT_Executable*> executable = ExecutableOf(behind->stock, loaded);
  if (!executable.ok()) return Bytes(0);
  const Bytes bytes = TemporaryBytes(*executable);
  DestroyExecutable(behind->stock, *executable);
  return bytes;
}

std::vector<int> OrdinalsOf(PJRT_LoadedExecutable* loaded) {
  PJRT_LoadedExecutable_AddressableDevices_Args args = {};
  args.struct_size = PJRT_LoadedExecutable_AddressableDevices_Args_STRUCT_SIZE;
  args.executable = loaded;
  if (!TakeError(behind->stock, behind->stock.PJRT_LoadedExecutable_AddressableDevices(&args)).ok()) return {};
  std::vector<int> ordinals;
  std::transform(args.addressable_devices, args.addressable_devices + args.num_addressable_devices,
                 std::back_inserter(ordinals), [](PJRT_Device* device) { return OrdinalOf(behind->stock, device); });
  return ordinals;
}

void Foresee(PJRT_LoadedExecutable* loaded) {
  if (loaded == nullptr || InForkedChild()) return;
  const Bytes bytes = TemporaryBytes(loaded);
  if (bytes >= kWorthwhile) behind->registry->Expect(OrdinalsOf(loaded), bytes);
}

PJRT_Error* Compile(PJRT_Client_Compile_Args* args) {
  PJRT_Error* const error = behind->compile(args);
  if (error == nullptr) Attempt([&] { Foresee(args->executable); });
  return error;
}

PJRT_Error* DeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args* args) {
  PJRT_Error* const error = behind->load(args);
  if (error == nullptr) Attempt([&] { Foresee(args->loaded_executable); });
  return error;
}

bool HasEntries(const PJRT_Api& api) {
  return api.PJRT_Client_Compile != nullptr && api.PJRT_Executable_DeserializeAndLoad != nullptr &&
         api.PJRT_Executable_GetCompiledMemoryStats != nullptr && api.PJRT_Executable_Destroy != nullptr &&
         api.PJRT_LoadedExecutable_GetExecutable != nullptr && api.PJRT_LoadedExecutable_AddressableDevices != nullptr;
}

}  // namespace

Status WrapForesightEntries(const PJRT_Api& stock, DeviceRegistry* registry, PJRT_Api* api, TableEdit* edit) {
  if (!registry->stitches_ahead() || !HasEntries(stock)) return OkStatus();
  behind = new Behind;
  behind->stock = stock;
  behind->registry = registry;
  behind->compile = api->PJRT_Client_Compile;
  behind->load = api->PJRT_Executable_DeserializeAndLoad;
  const Status compile = edit->Replace(&api->PJRT_Client_Compile, FencedEntry<&Compile>());
  if (!compile.ok()) return compile;
  return edit->Replace(&api->PJRT_Executable_DeserializeAndLoad, FencedEntry<&DeserializeAndLoad>());
}

}  // namespace gmlake
