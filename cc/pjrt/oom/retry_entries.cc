#include "cc/pjrt/oom/retry_entries.h"

#include <string>

#include "cc/pjrt/oom/early_results.h"
#include "cc/pjrt/oom/oom_tracker.h"
#include "cc/pjrt/oom/origin_entries.h"
#include "cc/pjrt/plugin/error_maker.h"
#include "cc/pjrt/plugin/known_plugin_abi.h"

namespace gmlake {
namespace {

constexpr int kMostAttempts = 4;

// Set once, before the first entry is replaced.
struct NextEntries {
  const PluginClient* plugin;
  PJRT_Api next;  // the table as it was before ours came in
};

NextEntries* next_entries = nullptr;

// A program on several devices may have started on some of them: it cannot be run a second time.
template <typename Args>
bool IsRepeatable(const Args&) {
  return true;
}
bool IsRepeatable(const PJRT_LoadedExecutable_Execute_Args& args) { return args.num_devices == 1; }

template <typename Args>
HostAnswer AskAbout(const Args& args, const PJRT_Error* error) {
  const bool is_oom_event = error != nullptr && OomTracker::Instance().has_callback() && IsRepeatable(args) &&
                            next_entries->plugin->IsExhausted(error);
  return is_oom_event ? OomTracker::Instance().AskHost(next_entries->plugin->TextOf(error)) : HostAnswer::kNo;
}

// How often a call is still tried. What was freed for another request meanwhile does not count: each such answer is one
// that the host has given to another call, and those are counted there.
class Attempts {
 public:
  bool MayGoOn(HostAnswer answer) {
    if (answer == HostAnswer::kYes) --left_;
    return answer != HostAnswer::kNo && left_ > 0;
  }

 private:
  int left_ = kMostAttempts;
};

void Discard(PJRT_Error* error) {
  ForgetOrigin(error);
  next_entries->plugin->TakeError(error).IgnoreError();
}

template <auto kEntry, typename Args>
PJRT_Error* TryWhileAnswered(Args* args, Attempts* attempts) {
  PJRT_Error* error = (next_entries->next.*kEntry)(args);
  while (error != nullptr && attempts->MayGoOn(AskAbout(*args, error))) {
    Discard(error);
    error = (next_entries->next.*kEntry)(args);
  }
  return error;
}

template <auto kEntry, typename Args>
PJRT_Error* Retrying(Args* args) {
  const OomTracker::Call call;
  Attempts attempts;
  return TryWhileAnswered<kEntry>(args, &attempts);
}

PJRT_Error* RetryingExecute(PJRT_LoadedExecutable_Execute_Args* args) {
  const OomTracker::Call call;
  for (Attempts attempts;;) {
    EarlyResults results(*next_entries->plugin, args);
    PJRT_Error* const error = TryWhileAnswered<&PJRT_Api::PJRT_LoadedExecutable_Execute>(args, &attempts);
    if (error != nullptr || !OomTracker::Instance().has_callback()) return error;
    const std::string failure = results.Failure();
    if (failure.empty() || !attempts.MayGoOn(OomTracker::Instance().AskHost(failure))) return error;
    results.TakeBack();
  }
}

#define GMLAKE_RETRY(name) \
  ReplaceIfThere(api, edit, &PJRT_Api::name, FencedEntry<&Retrying<&PJRT_Api::name, name##_Args>>())

}  // namespace

Status WrapRetryEntries(const PluginClient* plugin, PJRT_Api* api, TableEdit* edit) {
  if (plugin->stock().PJRT_Error_GetCode == nullptr) return OkStatus();
  next_entries = new NextEntries{plugin, CopyOf(*api)};
  return FirstFailure(
      {ReplaceIfThere(api, edit, &PJRT_Api::PJRT_LoadedExecutable_Execute, FencedEntry<&RetryingExecute>()),
       GMLAKE_RETRY(PJRT_Client_BufferFromHostBuffer), GMLAKE_RETRY(PJRT_Buffer_CopyToDevice),
       GMLAKE_RETRY(PJRT_Buffer_CopyToMemory)});
}

}  // namespace gmlake
