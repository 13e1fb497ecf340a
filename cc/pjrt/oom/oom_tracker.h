// Out-of-memory events: each refusal is described, saved where the user wants it, and kept until the plugin's error
// about it is read. Before that, the host may be asked to free something (retry_entries.h).
//
// XLA makes some requests only to see whether there is room, for instance while autotuning, and goes on without. So the
// full report goes to stderr only when an error about the refusal reaches the program; until then the refusal is only
// counted.
//
// An error is matched to a refusal by its origin, because the plugin's text names a size and sometimes no device. An
// error that a call returns is about a refusal during that call, on its thread. An error that surfaces later is about a
// recent refusal on the device of the buffer in error. Without a match, nothing is added to the error.
#ifndef GMLAKE_PJRT_OOM_OOM_TRACKER_H_
#define GMLAKE_PJRT_OOM_OOM_TRACKER_H_

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cc/base/mutex.h"
#include "cc/pjrt/abi/history_api.h"
#include "cc/pjrt/devices/served_device.h"
#include "cc/report/oom_event.h"

namespace gmlake {

struct OomOptions {
  std::string folder;     // where reports and snapshots are saved; empty: nowhere
  std::string recording;  // file that gets a recording that is on; empty: none
};

// Where an error comes from, as far as that is known.
struct Origin {
  std::vector<int> devices;  // it is about one of these; empty: any
  bool is_of_call = false;   // a call has returned it
  int64_t after = 0;         // the refusals during that call: those above this number,
  int64_t upto = 0;          // up to this one
  std::thread::id thread;    // of the call
  // What the call works on may be in error since before.
  bool may_be_older = false;
};

// What the host says of a request that cannot be met.
enum class HostAnswer {
  kNo,
  kYes,        // it has freed something for this request: try again
  kMeanwhile,  // it has freed something for another request, while this one waited: try again, and ask again if need be
};

// Threads: any; no lock is held while the host is asked, the device is read or a file is written.
// Cost: nothing until a request is refused.
class OomTracker {
 public:
  static OomTracker& Instance();

  // A call of the plugin by the host, on this thread. A call within a call is part of it. Cost: a load and two
  // thread-local words.
  class Call {
   public:
    explicit Call(const OomTracker& oom_events = Instance());
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    Origin origin() const;
    bool saw_refusals() const;

   private:
    const OomTracker& tracker_;
    const bool is_outermost_;
  };

  void SetOptions(const OomOptions& options);
  OomOptions options() const;
  void SetCallback(GmlakeOomCallback callback) { callback_.store(callback); }

  bool has_callback() const { return callback_.load() != nullptr; }

  // `asked` is refused. `reason`: the allocator's words for it.
  void Record(ServedDevice* device, Bytes asked, const std::string& reason = "");
  // `asked` is refused for another reason than want of memory, such as a capture or an error of the driver: the error
  // only says so.
  void RecordError(ServedDevice* device, Bytes asked, const std::string& reason);
  // How many requests the calling thread has been refused.
  static int64_t NumOnThisThread();
  // The plugin says in `text`, in the call that this thread is in, that memory ran out: what the host says.
  HostAnswer AskHost(const std::string& text);
  // The plugin says in `text` that memory ran out: what we know about it, in a line; empty if that was not our doing.
  // The first time, the full report goes to stderr.
  std::string Claim(const std::string& text, const Origin& origin);
  // Refused requests of a device that no error of the program was about.
  int64_t NumUnnoticed(int ordinal) const;

 private:
  using Time = std::chrono::steady_clock::time_point;

  // The plugin asks more than once for the same: one thread, one call, one size.
  struct Group {
    int device = 0;
    Bytes asked;
    std::thread::id thread;
    int64_t call = 0;
    bool operator==(const Group& other) const {
      return device == other.device && asked == other.asked && thread == other.thread && call == other.call;
    }
  };
  struct Refusal {
    Group group;
    std::string label;
    AllocatorStats stats;
    std::string line;
    std::string report;
    bool noticed = false;
    bool is_oom_event = true;
    int64_t number = 0;
    Time time;
  };

  static Group GroupOf(const ServedDevice& device, Bytes asked);
  OomEvent OomEventOf(ServedDevice* device, const Group& group, Recording* recording) const;
  int64_t NumUnnoticedBut(const Group& group) const;
  // Where the next out-of-memory event is saved, without the ending; empty: nowhere.
  std::string NextStem();
  void Save(ServedDevice* device, const OomEvent& oom_event, const Recording& recording) const;
  // The file of the recording that is to be written now; empty: none, or not so soon again.
  std::string RecordingDue(int ordinal);
  void Keep(Refusal refusal);
  // The newest refusal that `text` may be about; null: there is none.
  const Refusal* Find(const std::string& text, const Origin& origin) const GMLAKE_REQUIRES(mutex_);
  const Refusal* FindOfCall(const std::string& text, const Origin& origin) const GMLAKE_REQUIRES(mutex_);
  const Refusal* FindRecent(const std::string& text, const std::vector<int>& devices) const GMLAKE_REQUIRES(mutex_);
  template <typename Wanted>
  const Refusal* Newest(const std::string& text, Wanted wanted) const GMLAKE_REQUIRES(mutex_);
  void Notice(const Group& group) GMLAKE_REQUIRES(mutex_);
  HostAnswer Ask(GmlakeOomCallback callback, const Refusal& refusal) const;

  std::atomic<GmlakeOomCallback> callback_{nullptr};
  std::atomic<int64_t> last_number_{0};

  mutable Mutex mutex_;
  OomOptions options_ GMLAKE_GUARDED_BY(mutex_);
  std::deque<Refusal> recent_ GMLAKE_GUARDED_BY(mutex_);        // newest last
  std::map<int, int64_t> unnoticed_ GMLAKE_GUARDED_BY(mutex_);  // by ordinal
  std::map<int, Time> recorded_ GMLAKE_GUARDED_BY(mutex_);      // by ordinal, when the recording was last written
  int num_saved_ GMLAKE_GUARDED_BY(mutex_) = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_OOM_OOM_TRACKER_H_
