#include "cc/pjrt/retry_entries.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "cc/pjrt/page_protection.h"
#include "cc/pjrt/plugin_client.h"
#include "cc/pjrt/shortages.h"

namespace gmlake {
namespace {

constexpr int kMostAttempts = 4;

// Set once, before the first entry is replaced.
struct Behind {
  PJRT_Api stock = {};
  PJRT_Api next = {};  // the table as it was before ours came in
};

Behind* behind = nullptr;

bool IsExhausted(const PJRT_Error* error) {
  PJRT_Error_GetCode_Args args = {};
  args.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE;
  args.error = error;
  return TakeError(behind->stock, behind->stock.PJRT_Error_GetCode(&args)).ok() &&
         args.code == PJRT_Error_Code_RESOURCE_EXHAUSTED;
}

std::string TextOf(const PJRT_Error* error) {
  PJRT_Error_Message_Args args = {};
  args.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE;
  args.error = error;
  behind->stock.PJRT_Error_Message(&args);
  return std::string(args.message, args.message_size);
}

// A program's failure may come with its results: then they are in error from the start. Only what an allocation of ours on
// this very thread made fail is looked at. The caller has not seen them yet, so that they can be taken back.
class EarlyResults {
 public:
  explicit EarlyResults(PJRT_LoadedExecutable_Execute_Args* args) : args_(args), before_(Shortages::NumOnThisThread()) {}

  // The text of their error; empty where there is none, or where it is too late to run the program again.
  std::string Failure() const {
    if (Shortages::NumOnThisThread() == before_ || args_->num_devices != 1 || Count() == 0) return "";
    for (size_t i = 0; i < args_->num_args; ++i) {
      if (IsDeleted(args_->argument_lists[0][i])) return "";
    }
    return ErrorOf(args_->output_lists[0][0]);
  }

  void TakeBack() {
    for (size_t i = 0; i < Count(); ++i) {
      PJRT_Buffer_Destroy_Args destroy = {};
      destroy.struct_size = PJRT_Buffer_Destroy_Args_STRUCT_SIZE;
      destroy.buffer = args_->output_lists[0][i];
      TakeError(behind->stock, behind->stock.PJRT_Buffer_Destroy(&destroy)).IgnoreError();
    }
    if (args_->device_complete_events != nullptr) Destroy(args_->device_complete_events[0]);
  }

 private:
  size_t Count() const {
    PJRT_LoadedExecutable_GetExecutable_Args get = {};
    get.struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE;
    get.loaded_executable = args_->executable;
    if (!TakeError(behind->stock, behind->stock.PJRT_LoadedExecutable_GetExecutable(&get)).ok()) return 0;
    PJRT_Executable_NumOutputs_Args count = {};
    count.struct_size = PJRT_Executable_NumOutputs_Args_STRUCT_SIZE;
    count.executable = get.executable;
    const bool known = TakeError(behind->stock, behind->stock.PJRT_Executable_NumOutputs(&count)).ok();
    PJRT_Executable_Destroy_Args destroy = {};
    destroy.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE;
    destroy.executable = get.executable;
    TakeError(behind->stock, behind->stock.PJRT_Executable_Destroy(&destroy)).IgnoreError();
    return known ? count.num_outputs : 0;
  }

  static bool IsDeleted(PJRT_Buffer* buffer) {
    PJRT_Buffer_IsDeleted_Args args = {};
    args.struct_size = PJRT_Buffer_IsDeleted_Args_STRUCT_SIZE;
    args.buffer = buffer;
    return !TakeError(behind->stock, behind->stock.PJRT_Buffer_IsDeleted(&args)).ok() || args.is_deleted;
  }

  // Empty where the buffer is not in error, or is not known to be yet.
  static std::string ErrorOf(PJRT_Buffer* buffer) {
    PJRT_Buffer_ReadyEvent_Args ready = {};
    ready.struct_size = PJRT_Buffer_ReadyEvent_Args_STRUCT_SIZE;
    ready.buffer = buffer;
    if (!TakeError(behind->stock, behind->stock.PJRT_Buffer_ReadyEvent(&ready)).ok()) return "";
    const std::string text = IsReady(ready.event) ? ErrorOf(ready.event) : "";
    Destroy(ready.event);
    return text;
  }

  static bool IsReady(PJRT_Event* event) {
    PJRT_Event_IsReady_Args args = {};
    args.struct_size = PJRT_Event_IsReady_Args_STRUCT_SIZE;
    args.event = event;
    return TakeError(behind->stock, behind->stock.PJRT_Event_IsReady(&args)).ok() && args.is_ready;
  }

  static std::string ErrorOf(PJRT_Event* event) {
    PJRT_Event_Error_Args args = {};
    args.struct_size = PJRT_Event_Error_Args_STRUCT_SIZE;
    args.event = event;
    PJRT_Error* const error = behind->stock.PJRT_Event_Error(&args);
    const std::string text = error != nullptr && IsExhausted(error) ? TextOf(error) : "";
    TakeError(behind->stock, error).IgnoreError();
    return text;
  }

  static void Destroy(PJRT_Event* event) {
    PJRT_Event_Destroy_Args args = {};
    args.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE;
    args.event = event;
    TakeError(behind->stock, behind->stock.PJRT_Event_Destroy(&args)).IgnoreError();
  }

  PJRT_LoadedExecutable_Execute_Args* args_;
  int64_t before_;
};

// A program on several devices may have started on some of them: it cannot be run a second time.
template <typename Args>
bool IsRepeatable(const Args&) {
  return true;
}
bool IsRepeatable(const PJRT_LoadedExecutable_Execute_Args& args) { return args.num_devices == 1; }

template <typename Args>
bool MayRetry(const Args& args, const PJRT_Error* error) {
  return error != nullptr && Shortages::Instance().has_callback() && IsRepeatable(args) && IsExhausted(error) &&
         Shortages::Instance().AskHost(TextOf(error));
}

template <auto kEntry, typename Args>
PJRT_Error* Retrying(Args* args) {
  PJRT_Error* error = (behind->next.*kEntry)(args);
  for (int attempt = 1; attempt < kMostAttempts && MayRetry(*args, error); ++attempt) {
    TakeError(behind->stock, error).IgnoreError();
    error = (behind->next.*kEntry)(args);
  }
  return error;
}

template <auto kEntry, typename Function>
Status Wrap(PJRT_Api* api, Function* retrying) {
  if (api->*kEntry == nullptr) return OkStatus();
  StatusOr<WritablePage> page = WritablePage::Open(&(api->*kEntry));
  if (!page.ok()) return page.status();
  __atomic_store_n(&(api->*kEntry), retrying, __ATOMIC_RELEASE);
  return OkStatus();
}

PJRT_Error* RetryingExecute(PJRT_LoadedExecutable_Execute_Args* args) {
  for (int attempt = 1;; ++attempt) {
    EarlyResults results(args);
    PJRT_Error* const error = Retrying<&PJRT_Api::PJRT_LoadedExecutable_Execute>(args);
    if (error != nullptr || attempt == kMostAttempts || !Shortages::Instance().has_callback()) return error;
    const std::string failure = results.Failure();
    if (failure.empty() || !Shortages::Instance().AskHost(failure)) return error;
    results.TakeBack();
  }
}

#define GMLAKE_RETRY(name) Wrap<&PJRT_Api::name>(api, &Retrying<&PJRT_Api::name, name##_Args>)

}  // namespace

Status WrapRetryEntries(const PJRT_Api& stock, PJRT_Api* api) {
  if (stock.PJRT_Error_GetCode == nullptr) return OkStatus();
  behind = new Behind;
  behind->stock = stock;
  std::memcpy(&behind->next, api, std::min(api->struct_size, sizeof(PJRT_Api)));
  for (const Status& wrapped : {Wrap<&PJRT_Api::PJRT_LoadedExecutable_Execute>(api, &RetryingExecute),
                                GMLAKE_RETRY(PJRT_Client_BufferFromHostBuffer),
                                GMLAKE_RETRY(PJRT_Buffer_CopyToDevice), GMLAKE_RETRY(PJRT_Buffer_CopyToMemory)}) {
    if (!wrapped.ok()) return wrapped;
  }
  return OkStatus();
}

}  // namespace gmlake
