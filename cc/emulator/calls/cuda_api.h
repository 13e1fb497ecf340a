// cuda.h with its entry points visible: this library is built with hidden symbols, and what cuda.h declares is what
// it exports. Everything here that speaks CUDA includes this file instead of cuda.h.
#ifndef GMLAKE_EMULATOR_CALLS_CUDA_API_H_
#define GMLAKE_EMULATOR_CALLS_CUDA_API_H_

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#endif  // GMLAKE_EMULATOR_CALLS_CUDA_API_H_
