// A test on libscripted_cuda.so, with a script of its own and nothing seen yet.
#ifndef GMLAKE_DRIVER_TESTING_SCRIPTED_CUDA_FIXTURE_H_
#define GMLAKE_DRIVER_TESTING_SCRIPTED_CUDA_FIXTURE_H_

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "cc/driver/testing/scripted_cuda.h"

namespace gmlake {

class ScriptedCudaTest : public testing::Test {
 protected:
  void SetUp() override {
    void* library = dlopen(kScriptedCudaPath, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    state_ = reinterpret_cast<GetScriptedCuda>(dlsym(library, kGetScriptedCuda))();
    state_->script = CudaScript();
    state_->seen = CudaObservations();
    state_->set_current_context(nullptr);
  }

  CudaScript& script() { return state_->script; }
  CudaObservations& seen() { return state_->seen; }

  void Fail(const char* call, CUresult failure, int nth = 0) {
    script().failing_call = call;
    script().failing_nth = nth;
    script().failure = failure;
  }

  ScriptedCuda* state_ = nullptr;
};

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_TESTING_SCRIPTED_CUDA_FIXTURE_H_
