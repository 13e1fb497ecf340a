// Replaces words of the plugin's function tables one by one, and can put all of them back.
#ifndef GMLAKE_PJRT_PATCH_TABLE_EDIT_H_
#define GMLAKE_PJRT_PATCH_TABLE_EDIT_H_

#include <functional>
#include <vector>

#include "cc/base/status.h"
#include "cc/pjrt/patch/exception_barrier.h"
#include "cc/pjrt/patch/page_protection.h"

namespace gmlake {

// Model: which words were replaced, what each was and what it became, in order; a word may be replaced more than once.
// Invariant: a word that somebody else has changed after us is never written again. Threads: one. Cost: for set-up
// only.
class TableEdit {
 public:
  // `*entry` is `ours` from now on, whatever protects its page. On failure it is what it was.
  template <typename Function>
  Status Replace(Function** entry, NoThrow<Function> ours);
  // Every word is what it was before the first Replace, but those that somebody else has replaced after us: he calls
  // what he found there, which is ours. How many these are is said in the error.
  Status Undo();

 private:
  // One word put back; false if it is not ours any more or cannot be written.
  using Step = std::function<bool()>;

  std::vector<Step> steps_;
};

// What needs memory comes first: a word that was written can be put back.
template <typename Function>
Status TableEdit::Replace(Function** entry, NoThrow<Function> fenced) {
  Function* const ours = fenced.get();
  Function* const former = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
  steps_.push_back([=] { return __atomic_load_n(entry, __ATOMIC_ACQUIRE) == ours && Overwrite(entry, former).ok(); });
  const Status written = Overwrite(entry, ours);
  if (!written.ok()) steps_.pop_back();
  return written;
}

}  // namespace gmlake

#endif  // GMLAKE_PJRT_PATCH_TABLE_EDIT_H_
