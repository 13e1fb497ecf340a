// Carries the question "memory ran out; can you free some?" from the thread that needs memory to a thread of Python's.
//
// The asking thread may hold locks of XLA, and a thread that waits for one of those may hold Python's lock. So the
// asker never takes Python's lock: it leaves the question here and waits for a bounded time.
#ifndef GMLAKE_PYTHON_OOM_MAILBOX_H_
#define GMLAKE_PYTHON_OOM_MAILBOX_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "cc/base/mutex.h"

namespace gmlake {

// GmlakeOomEvent with texts of its own.
struct OomNote {
  int device = 0;
  int64_t asked_bytes = 0;
  int64_t bytes_in_use = 0;
  int64_t bytes_limit = 0;
  int64_t largest_servable = 0;
  std::string label;
  std::string report;
};

enum class OomAnswer {
  kNo,
  kYes,
  kMeanwhile,  // "yes" to another's question, while this one waited for its turn
};

// Model: at most one question at a time, and its answer; other askers wait for a turn. Threads: any number ask, one
// answers. A question of the answering thread itself gets "no" at once, because no other thread would answer it.
// Invariant: a late answer reaches nobody.
class OomMailbox {
 public:
  // Waits for its turn and then for the answer, at most `patience`; kNo where there is none.
  OomAnswer Ask(const OomNote& note, std::chrono::milliseconds patience);
  // Waits for a question, at most `patience`.
  std::optional<OomNote> Next(std::chrono::milliseconds patience);
  void Answer(bool may_retry);
  // Whoever waits in Next goes on, with nothing.
  void Wake();
  // How many wait for their turn.
  int num_waiting();

 private:
  // False: another question was answered with "yes" first.
  bool WaitForTurn() GMLAKE_REQUIRES(mutex_);

  Mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<OomNote> question_ GMLAKE_GUARDED_BY(mutex_);  // not yet fetched
  std::optional<bool> answer_ GMLAKE_GUARDED_BY(mutex_);
  bool asking_ GMLAKE_GUARDED_BY(mutex_) = false;
  int64_t wakes_ GMLAKE_GUARDED_BY(mutex_) = 0;
  int64_t yeses_ GMLAKE_GUARDED_BY(mutex_) = 0;
  std::thread::id answerer_ GMLAKE_GUARDED_BY(mutex_);  // who has fetched a question and not yet answered
  int waiting_ GMLAKE_GUARDED_BY(mutex_) = 0;           // for their turn
};

}  // namespace gmlake

#endif  // GMLAKE_PYTHON_OOM_MAILBOX_H_
