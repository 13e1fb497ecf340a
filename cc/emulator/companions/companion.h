// What the libraries beside libcuda share: how each reaches the emulated driver in its process.
//
// They are loaded after libcuda.so.1 and find it by that name; none of them links it.
#ifndef GMLAKE_EMULATOR_COMPANIONS_COMPANION_H_
#define GMLAKE_EMULATOR_COMPANIONS_COMPANION_H_

#define GMLAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace gmlake::emulator {

// The driver's function of that name; null if there is no driver.
void* FindInDriver(const char* name);

// Calls the driver's function; `otherwise` if there is none.
template <typename Result, typename... Arguments>
Result CallDriver(const char* name, Result otherwise, Arguments... arguments) {
  auto* const function = reinterpret_cast<Result (*)(Arguments...)>(FindInDriver(name));
  return function == nullptr ? otherwise : function(arguments...);
}

// Those that the process sees, and those of the machine.
inline int CountDevices() { return CallDriver<int>("gmlake_emulator_devices", 0); }
inline int CountInstalled() { return CallDriver<int>("gmlake_emulator_installed", 0); }

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_COMPANIONS_COMPANION_H_
