// Carries the question "memory ran out; can you free some?" from the thread that needs memory to a thread of Python's.
//
// The thread that asks may be any, and the program may hold locks of XLA's on it; Python's lock may be held by a thread
// that waits for one of those. So the asker never takes Python's lock: it puts the question here and waits, for a
// bounded time.
#ifndef GMLAKE_PYTHON_OOM_MAILBOX_H_
#define GMLAKE_PYTHON_OOM_MAILBOX_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

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

// Model: at most one question at a time, and its answer; whoever else asks waits for a turn. Threads: any number may
// ask, one answers; what that thread asks itself is answered "no" at once, because nobody else would. Invariant: an
// answer that comes too late reaches nobody.
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
  bool WaitForTurn(std::unique_lock<std::mutex>* lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<OomNote> question_;  // guarded by mutex_; not yet fetched
  std::optional<bool> answer_;       // guarded by mutex_
  bool asking_ = false;              // guarded by mutex_
  int64_t wakes_ = 0;                // guarded by mutex_
  int64_t yeses_ = 0;                // guarded by mutex_
  std::thread::id answerer_;         // guarded by mutex_; who has fetched a question and not yet answered
  int waiting_ = 0;                  // guarded by mutex_; for their turn
};

}  // namespace gmlake

#endif  // GMLAKE_PYTHON_OOM_MAILBOX_H_
