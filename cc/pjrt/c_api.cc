// The C door: each function turns plain C values into calls of the classes behind it. No decision is made here.
#include "cc/pjrt/c_api.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "cc/pjrt/fork_guard.h"
#include "cc/pjrt/installation.h"
#include "cc/pjrt/probe_report.h"

namespace {

using gmlake::Bytes;
using gmlake::Installation;
using gmlake::ServedDevice;
using gmlake::Status;

void CopyText(const std::string& text, char* target, size_t size) {
  if (target == nullptr || size == 0) return;
  const size_t count = std::min(text.size(), size - 1);
  std::memcpy(target, text.data(), count);
  target[count] = '\0';
}

int Answer(const Status& status, char* message, size_t size) {
  CopyText(status.message(), message, size);
  return status.ok() ? 0 : -1;
}

// Null for a device that is not served, and in a forked child, where its locks may be held for ever.
ServedDevice* FindDevice(int ordinal) {
  gmlake::DeviceRegistry* registry = Installation::Instance().registry();
  if (registry == nullptr || gmlake::InForkedChild()) return nullptr;
  ServedDevice* device = registry->Find(ordinal);
  return device != nullptr && device->is_verified() ? device : nullptr;
}

int Install(const char* stock_path, const GmlakeOptions* given, char* message, size_t size) {
  if (stock_path == nullptr) return Answer({gmlake::StatusCode::kInvalidArgument, "no CUDA plugin was named"}, message, size);
  const gmlake::StatusOr<gmlake::Options> options = gmlake::OptionsFrom(given);
  if (!options.ok()) return Answer(options.status(), message, size);
  return Answer(Installation::Instance().Install(stock_path, *options), message, size);
}

int IsInstalled() { return Installation::Instance().is_installed() ? 1 : 0; }

int NumDevices() {
  gmlake::DeviceRegistry* registry = Installation::Instance().registry();
  if (registry == nullptr || gmlake::InForkedChild()) return 0;
  int count = 0;
  for (const ServedDevice* device : registry->Devices()) count += device->is_verified() ? 1 : 0;
  return count;
}

const char* State() {
  static thread_local std::string line;
  line = gmlake::InForkedChild() ? "not active: this process was forked from one that uses the GPU"
                                 : Installation::Instance().activity().line();
  return line.c_str();
}

int ReadStats(int ordinal, gmlake::AllocatorStats* stats) {
  ServedDevice* device = FindDevice(ordinal);
  if (device == nullptr || stats == nullptr) return -1;
  *stats = device->core().Stats();
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
  return Answer({gmlake::StatusCode::kInvalidArgument, "device " + std::to_string(ordinal) + " is not served"}, message, size);
}

int Probe(const char* driver_path, char* text, size_t size) {
  const gmlake::ProbeReport report = gmlake::ProbeDevices(driver_path == nullptr ? "" : driver_path);
  CopyText(report.text, text, size);
  return report.all_served ? 0 : -1;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const GmlakeApi* GmlakeGetApi() {
  static const GmlakeApi api = {sizeof(GmlakeApi), &Install,    &IsInstalled, &NumDevices, &State,
                                &ReadStats,        &ResetPeaks, &Trim,        &SetLimit,   &Probe};
  return &api;
}
