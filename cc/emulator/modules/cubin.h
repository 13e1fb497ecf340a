// Reads from a compiled GPU program (cubin, an ELF file) what the emulator needs: its kernels with their parameters,
// and its global variables with their first values. The code itself is not looked at.
#ifndef GMLAKE_EMULATOR_MODULES_CUBIN_H_
#define GMLAKE_EMULATOR_MODULES_CUBIN_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gmlake::emulator {

struct Parameter {
  unsigned offset;
  unsigned size;
};

struct KernelInfo {
  std::vector<Parameter> parameters;
  size_t shared_bytes = 0;
};

struct Cubin {
  std::map<std::string, KernelInfo> kernels;
  std::map<std::string, std::vector<char>> globals;
};

// `image` is a cubin, or a fat binary that holds one. False if there is none inside (PTX text, say).
bool ReadCubin(const void* image, Cubin* cubin);

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_MODULES_CUBIN_H_
