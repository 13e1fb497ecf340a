#include "cc/pjrt/gates/transfers.h"

#include "cc/pjrt/patch/exception_barrier.h"
#include "cc/pjrt/plugin/plugin_client.h"

namespace gmlake {

struct Transfers::Copy {
  Transfers* transfers;
  std::vector<int> ordinals;
  PJRT_Event* event;  // if it is ours to destroy
};

void Transfers::Watch(PJRT_Event* event, const std::vector<int>& ordinals) {
  Watch(event, /*is_ours=*/false, ordinals);
}

void Transfers::WatchBuffer(PJRT_Buffer* buffer, const std::vector<int>& ordinals) {
  PJRT_Buffer_ReadyEvent_Args args = {};
  args.struct_size = PJRT_Buffer_ReadyEvent_Args_STRUCT_SIZE;
  args.buffer = buffer;
  if (TakeError(*stock_, stock_->PJRT_Buffer_ReadyEvent(&args)).ok()) Watch(args.event, /*is_ours=*/true, ordinals);
}

void Transfers::Watch(PJRT_Event* event, bool is_ours, const std::vector<int>& ordinals) {
  if (event == nullptr) return;
  Copy* const copy = new Copy{this, ordinals, is_ours ? event : nullptr};
  for (int ordinal : ordinals) gate_->BeginTransfer(ordinal);
  PJRT_Event_OnReady_Args args = {};
  args.struct_size = PJRT_Event_OnReady_Args_STRUCT_SIZE;
  args.event = event;
  args.user_arg = copy;
  args.callback = [](PJRT_Error* error, void* user_arg) {
    Copy* const done = static_cast<Copy*>(user_arg);
    Attempt([&] { done->transfers->End(done, error); });
  };
  if (!TakeError(*stock_, stock_->PJRT_Event_OnReady(&args)).ok()) End(copy, nullptr);
}

void Transfers::End(Copy* copy, PJRT_Error* error) {
  for (int ordinal : copy->ordinals) gate_->EndTransfer(ordinal);
  TakeError(*stock_, error).IgnoreError();
  if (copy->event != nullptr) {
    PJRT_Event_Destroy_Args args = {};
    args.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE;
    args.event = copy->event;
    TakeError(*stock_, stock_->PJRT_Event_Destroy(&args)).IgnoreError();
  }
  delete copy;
}

}  // namespace gmlake
