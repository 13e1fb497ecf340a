// Requests that could not be met: each is described, saved where the user wants it, and kept until the plugin's error
// about it is read. Before that the host may be asked to free something (retry_entries.h).
//
// XLA tries some requests only to see whether there is room (autotuning, for one) and goes on without. So a full report
// goes to stderr only when an error about it reaches the program; until then a refusal is a number.
#ifndef GMLAKE_PJRT_SHORTAGES_H_
#define GMLAKE_PJRT_SHORTAGES_H_

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "cc/pjrt/history_api.h"
#include "cc/pjrt/served_device.h"
#include "cc/report/shortage.h"

namespace gmlake {

struct ShortageOptions {
  std::string folder;     // where reports and snapshots are saved; empty: nowhere
  std::string recording;  // file that gets a recording that is on; empty: none
};

// Threads: any; no lock is held while the host is asked, the device is read or a file is written.
// Cost: nothing until a request is refused.
class Shortages {
 public:
  static Shortages& Instance();

  void SetOptions(const ShortageOptions& options);
  ShortageOptions options() const;
  void SetCallback(GmlakeShortageCallback callback) { callback_.store(callback); }

  bool has_callback() const { return callback_.load() != nullptr; }

  // `asked` is refused.
  void Record(ServedDevice* device, Bytes asked);
  // The device sleeps, which is no shortage: the error only says so.
  void RecordAsleep(ServedDevice* device, Bytes asked);
  // How many requests the calling thread has been refused.
  static int64_t NumOnThisThread();
  // The plugin says in `text` that memory ran out. True: the host has done something about it, so that what failed
  // should be tried again.
  bool AskHost(const std::string& text);
  // The plugin says in `text` that memory ran out: what we know about it, in a line; empty if that was not our doing.
  // The first time, the full report goes to stderr.
  std::string Claim(const std::string& text);
  // Refused requests of a device that no error of the program was about.
  int64_t NumUnnoticed(int ordinal) const;

 private:
  struct Refusal {
    int device = 0;
    Bytes asked;
    std::string label;
    AllocatorStats stats;
    std::string line;
    std::string report;
    bool noticed = false;
  };

  Shortage Describe(ServedDevice* device, Bytes asked, Recording* recording) const;
  int64_t NumUnnoticedBut(int ordinal, Bytes asked) const;
  // Where the next shortage is saved, without the ending; empty: nowhere.
  std::string NextStem();
  void Save(ServedDevice* device, const Shortage& shortage, const Recording& recording) const;
  void Keep(Refusal refusal);
  // The newest refusal that `text` may be about; under mutex_. Null: there was none.
  const Refusal* Find(const std::string& text) const;
  void Notice(int device, Bytes asked);

  std::atomic<GmlakeShortageCallback> callback_{nullptr};
  std::atomic<bool> asking_{false};

  mutable std::mutex mutex_;
  ShortageOptions options_;           // guarded by mutex_
  std::deque<Refusal> recent_;        // guarded by mutex_; newest last
  std::map<int, int64_t> unnoticed_;  // guarded by mutex_; by ordinal
  int num_saved_ = 0;                 // guarded by mutex_
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_SHORTAGES_H_
