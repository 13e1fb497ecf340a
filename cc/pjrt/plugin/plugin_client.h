// The few questions that we ask the stock plugin through its own table: its devices, their numbers, one small buffer,
// what is behind a loaded executable, how much temporary memory it needs.
#ifndef GMLAKE_PJRT_PLUGIN_PLUGIN_CLIENT_H_
#define GMLAKE_PJRT_PLUGIN_PLUGIN_CLIENT_H_

#include <string>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// Takes the error's text and destroys it; null is success.
Status TakeError(const PJRT_Api& api, PJRT_Error* error);

// The error's text; the error stays.
std::string TextOf(const PJRT_Api& api, const PJRT_Error* error);
// Whether the error says that memory ran out.
bool IsExhausted(const PJRT_Api& api, const PJRT_Error* error);

// The devices of this process.
StatusOr<std::vector<PJRT_Device*>> AddressableDevices(const PJRT_Api& api, PJRT_Client* client);

// The CUDA ordinal of a device, or -1.
int OrdinalOf(const PJRT_Api& api, PJRT_Device* device);

// What is behind a loaded executable: its caller's, who gives it back by DestroyExecutable.
StatusOr<PJRT_Executable*> ExecutableOf(const PJRT_Api& api, PJRT_LoadedExecutable* loaded);
void DestroyExecutable(const PJRT_Api& api, PJRT_Executable* executable);

// How much temporary memory one run of the program needs on each device; XLA asks for all of it in one request.
// kNotSupported: the plugin's table lacks the entries that tell.
StatusOr<Bytes> TemporaryBytes(const PJRT_Api& api, PJRT_LoadedExecutable* loaded);

// Puts four bytes on the device's default memory, waits for them, and frees them again.
Status TouchDevice(const PJRT_Api& api, PJRT_Client* client, PJRT_Device* device);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_PLUGIN_PLUGIN_CLIENT_H_
