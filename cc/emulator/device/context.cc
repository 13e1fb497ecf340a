#include "cc/emulator/device/context.h"

#include <vector>

namespace gmlake::emulator {
namespace {

thread_local std::vector<CUcontext> t_contexts;

}  // namespace

CUcontext CurrentContext() { return t_contexts.empty() ? nullptr : t_contexts.back(); }

int CurrentDevice() {
  const CUcontext context = CurrentContext();
  return context == nullptr ? 0 : context->device;
}

void SetCurrentContext(CUcontext context) {
  if (!t_contexts.empty()) t_contexts.pop_back();
  t_contexts.push_back(context);
}

void PushContext(CUcontext context) { t_contexts.push_back(context); }

bool PopContext(CUcontext* context) {
  if (t_contexts.empty()) return false;
  *context = t_contexts.back();
  t_contexts.pop_back();
  return true;
}

}  // namespace gmlake::emulator
