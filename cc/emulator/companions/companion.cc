#include "cc/emulator/companions/companion.h"

#include <dlfcn.h>

namespace gmlake::emulator {

void* FindInDriver(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  return driver == nullptr ? nullptr : dlsym(driver, name);
}

}  // namespace gmlake::emulator

// Called by the generated stubs.
extern "C" int gmlake_unsupported(const char* library, const char* name, char* was_logged, int answer) {
  if (*was_logged == 0) gmlake::emulator::CallDriver<int>("gmlake_emulator_log_unsupported", 0, library, name);
  *was_logged = 1;
  return answer;
}
