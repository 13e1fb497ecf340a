#include "cc/pjrt/shortages.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cc/driver/device_processes.h"
#include "cc/pjrt/recording_file.h"
#include "cc/report/history_file.h"
#include "cc/telemetry/labels.h"

namespace gmlake {
namespace {

constexpr size_t kMostKept = 64;  // refusals that may still become an error
constexpr int kMostSaved = 16;    // a program that fails again and again must not fill the disk

thread_local int64_t refused_on_this_thread = 0;

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

// Does the plugin's text speak of a request of so many bytes?
bool Mentions(const std::string& text, Bytes asked) {
  return text.find(" " + std::to_string(asked.count()) + " ") != std::string::npos ||
         text.find(" " + XlaSize(asked) + " ") != std::string::npos;
}

}  // namespace

// Never destroyed: a thread of the plugin may be refused memory while the process ends.
Shortages& Shortages::Instance() {
  static Shortages* const instance = new Shortages;
  return *instance;
}

void Shortages::SetOptions(const ShortageOptions& options) {
  const std::lock_guard<std::mutex> lock(mutex_);
  options_ = options;
}

ShortageOptions Shortages::options() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return options_;
}

Shortage Shortages::Describe(ServedDevice* device, Bytes asked, Recording* recording) const {
  Shortage shortage;
  shortage.device = device->ordinal();
  shortage.device_name = device->name();
  shortage.asked = asked;
  shortage.label = LabelPath(CurrentLabel());
  shortage.snapshot = device->core().TakeSnapshot(recording);
  shortage.labels = LabelPaths();
  shortage.processes = ProcessesOf(*device);
  shortage.earlier = NumUnnoticedBut(device->ordinal(), asked);
  return shortage;
}

// One question at a time, and none about what the host asks for while it answers: that would never end.
bool Shortages::AskHost(const std::string& text) {
  const GmlakeShortageCallback callback = callback_.load();
  Refusal refusal;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Refusal* found = Find(text);
    if (found == nullptr) return false;
    refusal = *found;
  }
  if (callback == nullptr || asking_.exchange(true)) return false;
  const GmlakeShortage told = {refusal.device,
                               refusal.asked.count(),
                               refusal.stats.bytes_in_use.count(),
                               refusal.stats.bytes_limit.count(),
                               refusal.stats.largest_servable.count(),
                               refusal.label.c_str(),
                               refusal.report.c_str()};
  const bool may_retry = callback(&told) != 0;
  asking_.store(false);
  return may_retry;
}

int64_t Shortages::NumOnThisThread() { return refused_on_this_thread; }

void Shortages::Record(ServedDevice* device, Bytes asked) {
  ++refused_on_this_thread;
  Recording recording;
  Shortage shortage = Describe(device, asked, &recording);
  shortage.saved = NextStem();
  if (!shortage.saved.empty()) Save(device, shortage, recording);
  const std::string path = options().recording;
  if (!path.empty()) Complain(WriteRecording(device, path));
  const AllocatorStats& stats = shortage.snapshot.stats;
  Keep({shortage.device, asked, shortage.label, stats, DescribeShortage(shortage.device, asked, stats),
        Report(shortage)});
}

void Shortages::RecordAsleep(ServedDevice* device, Bytes asked) {
  Keep({device->ordinal(),
        asked,
        "",
        {},
        "[gmlake_jax] device " + std::to_string(device->ordinal()) +
            " is asleep; call gmlake_jax.wake() before using it",
        "",
        /*noticed=*/true});
}

void Shortages::Keep(Refusal refusal) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!refusal.noticed) ++unnoticed_[refusal.device];
  recent_.push_back(std::move(refusal));
  if (recent_.size() > kMostKept) recent_.pop_front();
}

std::string Shortages::NextStem() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (options_.folder.empty() || num_saved_ == kMostSaved) return "";
  return options_.folder + "/gmlake-oom-" + std::to_string(getpid()) + "-" + std::to_string(++num_saved_);
}

void Shortages::Save(ServedDevice* device, const Shortage& shortage, const Recording& recording) const {
  const Recording* events = recording.start_ns != 0 ? &recording : nullptr;
  const HistoryAbout about{shortage.device, device->name()};
  const Status report = WriteWholeFile(shortage.saved + ".txt", Report(shortage));
  const Status history =
      WriteWholeFile(shortage.saved + ".npz", EncodeHistory(about, shortage.snapshot, events, shortage.labels));
  Complain(report);
  Complain(history);
}

const Shortages::Refusal* Shortages::Find(const std::string& text) const {
  const auto mentioned = std::find_if(recent_.rbegin(), recent_.rend(),
                                      [&](const Refusal& refusal) { return Mentions(text, refusal.asked); });
  if (mentioned != recent_.rend()) return &*mentioned;
  return recent_.empty() ? nullptr : &recent_.back();  // a plugin that writes sizes in another way
}

// The plugin asks more than once for the same.
void Shortages::Notice(int device, Bytes asked) {
  for (Refusal& refusal : recent_) {
    if (refusal.noticed || refusal.device != device || refusal.asked != asked) continue;
    refusal.noticed = true;
    --unnoticed_[device];
  }
}

std::string Shortages::Claim(const std::string& text) {
  std::string line;
  std::string report;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Refusal* claimed = Find(text);
    if (claimed == nullptr) return "";
    line = claimed->line;
    if (!claimed->noticed) report = claimed->report;
    Notice(claimed->device, claimed->asked);
  }
  if (!report.empty()) std::fputs(report.c_str(), stderr);
  return line;
}

int64_t Shortages::NumUnnoticed(int ordinal) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto count = unnoticed_.find(ordinal);
  return count == unnoticed_.end() ? 0 : count->second;
}

// The plugin asks more than once for the same, and that is no earlier failure.
int64_t Shortages::NumUnnoticedBut(int ordinal, Bytes asked) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::count_if(recent_.begin(), recent_.end(), [&](const Refusal& refusal) {
    return !refusal.noticed && refusal.device == ordinal && refusal.asked != asked;
  });
}

}  // namespace gmlake
