#include "cc/pjrt/gates/transfers.h"

#include "cc/pjrt/patch/exception_barrier.h"

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
  const StatusOr<PJRT_Event*> event = plugin_->ReadyEvent(buffer);
  if (event.ok()) Watch(*event, /*is_ours=*/true, ordinals);
}

void Transfers::Watch(PJRT_Event* event, bool is_ours, const std::vector<int>& ordinals) {
  if (event == nullptr) return;
  Copy* const copy = new Copy{this, ordinals, is_ours ? event : nullptr};
  for (int ordinal : ordinals) gate_->BeginTransfer(ordinal);
  const auto end = [](PJRT_Error* error, void* user_arg) {
    Copy* const done = static_cast<Copy*>(user_arg);
    Attempt([&] { done->transfers->End(done, error); });
  };
  if (!plugin_->CallWhenReady(event, end, copy).ok()) End(copy, nullptr);
}

void Transfers::End(Copy* copy, PJRT_Error* error) {
  for (int ordinal : copy->ordinals) gate_->EndTransfer(ordinal);
  plugin_->TakeError(error).IgnoreError();
  if (copy->event != nullptr) plugin_->Destroy(copy->event).IgnoreError();
  delete copy;
}

}  // namespace gmlake
