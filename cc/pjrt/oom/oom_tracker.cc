#include "cc/pjrt/oom/oom_tracker.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <utility>

#include "cc/base/mutex.h"
#include "cc/driver/device_processes.h"
#include "cc/pjrt/oom/recording_file.h"
#include "cc/pjrt/patch/fork_guard.h"
#include "cc/report/history_file.h"
#include "cc/telemetry/labels.h"

namespace gmlake {
namespace {

constexpr size_t kMostKept = 64;  // refusals that may still become an error
constexpr int kMostSaved = 16;    // a program that fails again and again must not fill the disk
// An error that surfaces later than this is about something else.
constexpr std::chrono::minutes kRecent(10);
// A recording is written whole, so not at every refusal.
constexpr std::chrono::seconds kBetweenRecordings(10);

thread_local int64_t refused_on_this_thread = 0;

// The call that this thread is in.
struct CurrentCall {
  int64_t number = 0;  // 0: in none
  int64_t after = 0;
};
thread_local CurrentCall current_call;
std::atomic<int64_t> last_call{0};

// Whether this thread is asking the host: what the host then asks for itself, on the same thread, is no question.
thread_local bool is_asking = false;

std::vector<DeviceProcess> ProcessesOf(const ServedDevice& device) {
  std::vector<DeviceProcess> processes;
  for (ProcessUse& use : ProcessesOn(device.pci_bus_id())) {
    processes.push_back({use.pid, std::move(use.name), use.used, use.pid == getpid()});
  }
  return processes;
}

void Complain(const Status& written) {
  if (!written.ok()) std::fprintf(stderr, "[gmlake_jax] %s\n", written.message().c_str());
}

// A size as XLA writes it: "400.00MiB".
std::string XlaSize(Bytes size) {
  if (size < KiB(1)) return std::to_string(size.count()) + "B";
  const char* unit = "KMGTPE";
  double number = static_cast<double>(size.count()) / 1024;
  for (; number >= 1024; number /= 1024) ++unit;
  char text[32];
  std::snprintf(text, sizeof text, *unit == 'K' ? "%.1f%ciB" : "%.2f%ciB", number, *unit);
  return text;
}

// Whether `word` stands in `text` with nothing before it that would belong to it, and nothing behind.
bool HasWord(const std::string& text, const std::string& word) {
  for (size_t at = text.find(" " + word); at != std::string::npos; at = text.find(" " + word, at + 1)) {
    const size_t end = at + 1 + word.size();
    if (end == text.size() || std::isalnum(static_cast<unsigned char>(text[end])) == 0) return true;
  }
  return false;
}

// Does the plugin's text speak of a request of so many bytes?
bool Mentions(const std::string& text, Bytes asked) {
  return HasWord(text, std::to_string(asked.count())) || HasWord(text, XlaSize(asked));
}

bool Contains(const std::vector<int>& devices, int device) {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

}  // namespace

// Never destroyed: a thread of the plugin may be refused memory while the process ends.
OomTracker& OomTracker::Instance() {
  static OomTracker* const instance = new OomTracker;
  return *instance;
}

void OomTracker::SetOptions(const OomOptions& options) {
  const MutexLock lock(&mutex_);
  options_ = options;
}

OomOptions OomTracker::options() const {
  const MutexLock lock(&mutex_);
  return options_;
}

OomTracker::Call::Call(const OomTracker& oom_events) : tracker_(oom_events), is_outermost_(current_call.number == 0) {
  if (is_outermost_) current_call = {++last_call, tracker_.last_number_.load()};
}

OomTracker::Call::~Call() {
  if (is_outermost_) current_call = {};
}

bool OomTracker::Call::saw_refusals() const { return tracker_.last_number_.load() != current_call.after; }

Origin OomTracker::Call::origin() const {
  Origin origin;
  origin.is_of_call = true;
  origin.after = current_call.after;
  origin.upto = tracker_.last_number_.load();
  origin.thread = std::this_thread::get_id();
  return origin;
}

OomTracker::Group OomTracker::GroupOf(const ServedDevice& device, Bytes asked) {
  return {device.ordinal(), asked, std::this_thread::get_id(), current_call.number};
}

OomEvent OomTracker::OomEventOf(ServedDevice* device, const Group& group, Recording* recording) const {
  OomEvent oom_event;
  oom_event.device = device->ordinal();
  oom_event.device_name = device->name();
  oom_event.asked = group.asked;
  oom_event.label = LabelPath(CurrentLabel());
  oom_event.snapshot = device->core().TakeSnapshot(recording);
  oom_event.labels = LabelPaths();
  oom_event.processes = ProcessesOf(*device);
  oom_event.earlier = NumUnnoticedBut(group);
  return oom_event;
}

HostAnswer OomTracker::AskHost(const std::string& text) {
  const GmlakeOomCallback callback = callback_.load();
  if (callback == nullptr || is_asking || InForkedChild() || current_call.number == 0) return HostAnswer::kNo;
  Refusal refusal;
  {
    const MutexLock lock(&mutex_);
    const Refusal* const found = Newest(text, [](const Refusal& recent) {
      return recent.group.call == current_call.number && recent.group.thread == std::this_thread::get_id();
    });
    if (found == nullptr || !found->is_oom_event) return HostAnswer::kNo;
    refusal = *found;
  }
  return Ask(callback, refusal);
}

HostAnswer OomTracker::Ask(GmlakeOomCallback callback, const Refusal& refusal) const {
  const GmlakeOomEvent told = {refusal.group.device,
                               refusal.group.asked.count(),
                               refusal.stats.bytes_in_use.count(),
                               refusal.stats.bytes_limit.count(),
                               refusal.stats.largest_servable.count(),
                               refusal.label.c_str(),
                               refusal.report.c_str()};
  struct Asking {
    Asking() { is_asking = true; }
    ~Asking() { is_asking = false; }
  } const asking;
  const int answer = callback(&told);
  if (answer == GMLAKE_RETRY_MEANWHILE) return HostAnswer::kMeanwhile;
  return answer != 0 ? HostAnswer::kYes : HostAnswer::kNo;
}

int64_t OomTracker::NumOnThisThread() { return refused_on_this_thread; }

void OomTracker::Record(ServedDevice* device, Bytes asked, const std::string& reason) {
  ++refused_on_this_thread;
  const Group group = GroupOf(*device, asked);
  Recording recording;
  OomEvent oom_event = OomEventOf(device, group, &recording);
  oom_event.reason = reason;
  oom_event.saved = NextStem();
  if (!oom_event.saved.empty()) Save(device, oom_event, recording);
  const std::string path = RecordingDue(device->ordinal());
  if (!path.empty()) Complain(WriteRecording(device, path));
  Refusal refusal;
  refusal.group = group;
  refusal.label = oom_event.label;
  refusal.stats = oom_event.snapshot.stats;
  refusal.line = DescribeOomEvent(oom_event);
  refusal.report = Report(oom_event);
  Keep(std::move(refusal));
}

void OomTracker::RecordError(ServedDevice* device, Bytes asked, const std::string& reason) {
  Refusal refusal;
  refusal.group = GroupOf(*device, asked);
  refusal.line = "[gmlake_jax] device " + std::to_string(device->ordinal()) + ": " + reason;
  refusal.noticed = true;
  refusal.is_oom_event = false;
  Keep(std::move(refusal));
}

std::string OomTracker::RecordingDue(int ordinal) {
  const Time now = std::chrono::steady_clock::now();
  const MutexLock lock(&mutex_);
  if (options_.recording.empty()) return "";
  const auto [last, is_first] = recorded_.try_emplace(ordinal, now);
  if (!is_first && now - last->second < kBetweenRecordings) return "";
  last->second = now;
  return options_.recording;
}

void OomTracker::Keep(Refusal refusal) {
  const MutexLock lock(&mutex_);
  refusal.number = last_number_.load() + 1;
  refusal.time = std::chrono::steady_clock::now();
  if (!refusal.noticed) ++unnoticed_[refusal.group.device];
  recent_.push_back(std::move(refusal));
  if (recent_.size() > kMostKept) recent_.pop_front();
  ++last_number_;
}

std::string OomTracker::NextStem() {
  const MutexLock lock(&mutex_);
  if (options_.folder.empty() || num_saved_ == kMostSaved) return "";
  return options_.folder + "/gmlake-oom-" + std::to_string(getpid()) + "-" + std::to_string(++num_saved_);
}

void OomTracker::Save(ServedDevice* device, const OomEvent& oom_event, const Recording& recording) const {
  const Recording* events = recording.start_ns != 0 ? &recording : nullptr;
  const HistoryAbout about{oom_event.device, device->name()};
  const Status report = WriteWholeFile(oom_event.saved + ".txt", Report(oom_event));
  const Status history =
      WriteWholeFile(oom_event.saved + ".npz", EncodeHistory(about, oom_event.snapshot, events, oom_event.labels));
  Complain(report);
  Complain(history);
}

template <typename Wanted>
const OomTracker::Refusal* OomTracker::Newest(const std::string& text, Wanted wanted) const {
  const auto found = std::find_if(recent_.rbegin(), recent_.rend(), [&](const Refusal& refusal) {
    return wanted(refusal) && Mentions(text, refusal.group.asked);
  });
  return found == recent_.rend() ? nullptr : &*found;
}

const OomTracker::Refusal* OomTracker::Find(const std::string& text, const Origin& origin) const {
  const Refusal* const of_call = origin.is_of_call ? FindOfCall(text, origin) : nullptr;
  const bool may_be_older = !origin.is_of_call || origin.may_be_older;
  return of_call == nullptr && may_be_older ? FindRecent(text, origin.devices) : of_call;
}

// A call for several devices may ask on threads of the plugin's.
const OomTracker::Refusal* OomTracker::FindOfCall(const std::string& text, const Origin& origin) const {
  const auto is_of_call = [&](const Refusal& refusal) {
    return refusal.number > origin.after && refusal.number <= origin.upto;
  };
  const Refusal* const on_thread = Newest(
      text, [&](const Refusal& refusal) { return is_of_call(refusal) && refusal.group.thread == origin.thread; });
  if (on_thread != nullptr) return on_thread;
  return Newest(text, [&](const Refusal& refusal) {
    return is_of_call(refusal) && Contains(origin.devices, refusal.group.device);
  });
}

// Of an error whose device is not known, we tell only if no two devices come into question.
const OomTracker::Refusal* OomTracker::FindRecent(const std::string& text, const std::vector<int>& devices) const {
  const Time oldest = std::chrono::steady_clock::now() - kRecent;
  const auto comes_into_question = [&](const Refusal& refusal) {
    return refusal.time >= oldest && (devices.empty() || Contains(devices, refusal.group.device));
  };
  const Refusal* const found = Newest(text, comes_into_question);
  if (found == nullptr) return nullptr;
  const Refusal* const other = Newest(text, [&](const Refusal& refusal) {
    return comes_into_question(refusal) && refusal.group.device != found->group.device;
  });
  return other == nullptr ? found : nullptr;
}

void OomTracker::Notice(const Group& group) {
  for (Refusal& refusal : recent_) {
    if (refusal.noticed || !(refusal.group == group)) continue;
    refusal.noticed = true;
    --unnoticed_[group.device];
  }
}

// What a process refused, its children know nothing of; and the lock may be held for ever there.
std::string OomTracker::Claim(const std::string& text, const Origin& origin) {
  if (InForkedChild() || last_number_.load() == 0) return "";
  std::string line;
  std::string report;
  {
    const MutexLock lock(&mutex_);
    const Refusal* claimed = Find(text, origin);
    if (claimed == nullptr) return "";
    line = claimed->line;
    if (!claimed->noticed) report = claimed->report;
    Notice(claimed->group);
  }
  if (!report.empty()) std::fputs(report.c_str(), stderr);
  return line;
}

int64_t OomTracker::NumUnnoticed(int ordinal) const {
  const MutexLock lock(&mutex_);
  const auto count = unnoticed_.find(ordinal);
  return count == unnoticed_.end() ? 0 : count->second;
}

int64_t OomTracker::NumUnnoticedBut(const Group& group) const {
  const MutexLock lock(&mutex_);
  return std::count_if(recent_.begin(), recent_.end(), [&](const Refusal& refusal) {
    return !refusal.noticed && refusal.group.device == group.device && !(refusal.group == group);
  });
}

}  // namespace gmlake
