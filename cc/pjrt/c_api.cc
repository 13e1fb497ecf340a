// The C API: each function turns plain C values into calls of the classes behind it. No decision is made here.
#include "cc/pjrt/abi/c_api.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "cc/pjrt/c_api_util.h"
#include "cc/pjrt/install/installation.h"
#include "cc/pjrt/install/probe_report.h"
#include "cc/pjrt/oom/oom_tracker.h"
#include "cc/pjrt/patch/exception_barrier.h"
#include "cc/pjrt/patch/fork_guard.h"
#include "cc/pjrt/sleep/sleep_entries.h"

namespace {

using gmlake::Answer;
using gmlake::Bytes;
using gmlake::CopyText;
using gmlake::FindDevice;
using gmlake::Installation;
using gmlake::NotServed;
using gmlake::ServedDevice;
using gmlake::Status;

constexpr int64_t kLongestPatienceMs = int64_t{1'000'000} * 1000;

int Install(const char* stock_path, const GmlakeOption* given, size_t num_given, char* message, size_t size) {
  if (stock_path == nullptr)
    return Answer(Status(gmlake::StatusCode::kInvalidArgument, "no CUDA plugin was named"), message, size);
  const gmlake::StatusOr<gmlake::Options> options = gmlake::OptionsFrom(given, num_given);
  if (!options.ok()) return Answer(options.status(), message, size);
  return Answer(Installation::Instance().Install(stock_path, *options), message, size);
}

int IsInstalled() { return Installation::Instance().is_installed() ? 1 : 0; }

int NumDevices() { return static_cast<int>(gmlake::ServedOrdinals().size()); }

const char* State() {
  static thread_local std::string line;
  const bool told = gmlake::Attempt([] {
    line = gmlake::InForkedChild() ? "not active: this process was forked from one that uses the GPU"
                                   : Installation::Instance().activity().line();
  });
  return told ? line.c_str() : "not known: the host has no memory to say it";
}

int ReadStats(int ordinal, gmlake::AllocatorStats* stats) {
  ServedDevice* device = FindDevice(ordinal);
  if (device == nullptr || stats == nullptr) return -1;
  *stats = device->core().StatsOfDevice();
  stats->num_soft_failures = gmlake::OomTracker::Instance().NumUnnoticed(ordinal);
  return 0;
}

int ResetPeaks(int ordinal) {
  ServedDevice* device = FindDevice(ordinal);
  if (device == nullptr) return -1;
  device->core().ResetPeaks();
  return 0;
}

int64_t Trim(int ordinal, int64_t target_bytes) {
  ServedDevice* device = FindDevice(ordinal);
  if (device == nullptr) return -1;
  return device->core().Trim(Bytes(std::max<int64_t>(target_bytes, 0))).count();
}

int SetLimit(int ordinal, int64_t bytes, char* message, size_t size) {
  ServedDevice* device = FindDevice(ordinal);
  if (device != nullptr) return Answer(device->core().SetLimit(Bytes(bytes)), message, size);
  return Answer(NotServed(ordinal), message, size);
}

void Write(const gmlake::SleepReport& report, GmlakeSleepReport* target) {
  *target = {report.copied.count(), report.dropped.count(), report.given.count(), report.copy_seconds,
             report.total_seconds};
}

int AnswerSleep(const gmlake::StatusOr<gmlake::SleepReport>& done, GmlakeSleepReport* report, char* message,
                size_t size) {
  if (done.ok()) Write(*done, report);
  return Answer(done.status(), message, size);
}

int Sleep(int ordinal, const GmlakeSleepOptions* options, GmlakeSleepReport* report, char* message, size_t size) {
  ServedDevice* device = FindDevice(ordinal);
  if (device == nullptr) return Answer(NotServed(ordinal), message, size);
  gmlake::SleepRequest request;
  request.dropped_tags.assign(options->dropped_tags, options->dropped_tags + options->num_dropped_tags);
  request.patience = std::chrono::milliseconds(std::clamp<int64_t>(options->patience_ms, 0, kLongestPatienceMs));
  return AnswerSleep(gmlake::SleepDevice(device, request), report, message, size);
}

int Wake(int ordinal, GmlakeSleepReport* report, char* message, size_t size) {
  ServedDevice* device = FindDevice(ordinal);
  if (device == nullptr) return Answer(NotServed(ordinal), message, size);
  return AnswerSleep(gmlake::WakeDevice(device), report, message, size);
}

int IsAsleep(int ordinal) {
  ServedDevice* device = FindDevice(ordinal);
  return device == nullptr ? -1 : device->core().IsAsleep() ? 1 : 0;
}

int Tag(int ordinal, uint64_t address, int32_t tag) {
  ServedDevice* device = FindDevice(ordinal);
  return device != nullptr && device->core().Tag(gmlake::Address(address), tag) ? 0 : -1;
}

int64_t SharedAddresses(int ordinal, uint64_t* addresses, int64_t capacity) {
  ServedDevice* device = FindDevice(ordinal);
  if (device == nullptr) return -1;
  const std::vector<gmlake::Address> shared = gmlake::SharedAddresses(device);
  const int64_t count = static_cast<int64_t>(shared.size());
  for (int64_t i = 0; i < std::min(count, capacity); ++i) addresses[i] = shared[i].value();
  return count;
}

int PrepareSleep(int ordinal, int64_t bytes, char* message, size_t size) {
  ServedDevice* device = FindDevice(ordinal);
  if (device == nullptr) return Answer(NotServed(ordinal), message, size);
  const auto wanted = bytes < 0 ? std::nullopt : std::optional<Bytes>(bytes);
  return Answer(device->core().PrepareSleep(wanted), message, size);
}

int64_t Unprepared(int ordinal, char* message, size_t size) {
  ServedDevice* device = FindDevice(ordinal);
  if (device == nullptr) return Answer(NotServed(ordinal), message, size);
  const gmlake::StatusOr<Bytes> missing = device->core().Unprepared();
  return missing.ok() ? missing->count() : Answer(missing.status(), message, size);
}

int ReleaseHostStore(int ordinal) {
  ServedDevice* device = FindDevice(ordinal);
  if (device == nullptr) return -1;
  device->core().ReleaseHostStore();
  return 0;
}

int DeviceMemory(int ordinal, int64_t* free_bytes, int64_t* total_bytes) {
  ServedDevice* device = FindDevice(ordinal);
  if (device == nullptr) return -1;
  const gmlake::StatusOr<gmlake::DeviceMemory> memory = device->QueryMemory();
  if (!memory.ok()) return -1;
  *free_bytes = memory->free.count();
  *total_bytes = memory->total.count();
  return 0;
}

int Probe(const char* driver_path, char* text, size_t size) {
  const gmlake::ProbeReport report = gmlake::ProbeDevices(driver_path == nullptr ? "" : driver_path);
  CopyText(report.text, text, size);
  return report.all_served ? 0 : -1;
}

template <auto kFunction>
constexpr auto At() {
  return gmlake::ExceptionBarrier<kFunction, gmlake::AnswerAsCApi>::Wrap().get();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const GmlakeApi* GmlakeGetApi() {
  static const GmlakeApi api = {
      sizeof(GmlakeApi), At<&Install>(),          At<&IsInstalled>(),  At<&NumDevices>(),      At<&State>(),
      At<&ReadStats>(),  At<&ResetPeaks>(),       At<&Trim>(),         At<&SetLimit>(),        At<&Sleep>(),
      At<&Wake>(),       At<&IsAsleep>(),         At<&Tag>(),          At<&SharedAddresses>(), At<&PrepareSleep>(),
      At<&Unprepared>(), At<&ReleaseHostStore>(), At<&DeviceMemory>(), At<&Probe>(),           gmlake::HistoryApi()};
  return &api;
}
