#include "cc/python/library.h"

#include <dlfcn.h>

#include <array>

namespace gmlake {
namespace {

constexpr size_t kMessageSize = 1024;
constexpr size_t kReportSize = 16 * 1024;

Status NoSuchDevice(int device) {
  return Status(StatusCode::kInvalidArgument,
                "gmlake_jax serves no device " + std::to_string(device) + " in this process");
}

const char* OrNull(const std::optional<std::string>& text) { return text.has_value() ? text->c_str() : nullptr; }

Status CheckVersion(const GmlakeApi* api, const std::string& path) {
  if (api != nullptr && api->struct_size >= sizeof(GmlakeApi)) return OkStatus();
  return Status(StatusCode::kFailedPrecondition,
                path + " is of another version than this Python module; reinstall gmlake-jax");
}

}  // namespace

StatusOr<Library> Library::Open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Status(StatusCode::kFailedPrecondition, dlerror());
  auto get_api = reinterpret_cast<decltype(&GmlakeGetApi)>(dlsym(handle, "GmlakeGetApi"));
  if (get_api == nullptr) {
    return Status(StatusCode::kFailedPrecondition, path + " does not export GmlakeGetApi");
  }
  const GmlakeApi* api = get_api();
  if (Status status = CheckVersion(api, path); !status.ok()) return status;
  return Library(api);
}

Status Library::Install(const std::string& stock_path, const std::map<std::string, std::string>& options) const {
  std::vector<GmlakeOption> c = {{"interruptible", "1"}};  // Python's handler of SIGINT only makes a note
  for (const auto& [name, value] : options) c.push_back({name.c_str(), value.c_str()});
  std::array<char, kMessageSize> message = {};
  if (api_->install(stock_path.c_str(), c.data(), c.size(), message.data(), message.size()) == 0) return OkStatus();
  return Status(StatusCode::kFailedPrecondition, message.data());
}

StatusOr<AllocatorStats> Library::Stats(int device) const {
  AllocatorStats stats;
  if (api_->stats(device, &stats) != 0) return NoSuchDevice(device);
  return stats;
}

Status Library::ResetPeaks(int device) const {
  return api_->reset_peaks(device) == 0 ? OkStatus() : NoSuchDevice(device);
}

StatusOr<Bytes> Library::Trim(int device, Bytes target) const {
  const int64_t given_back = api_->trim(device, target.count());
  if (given_back < 0) return NoSuchDevice(device);
  return Bytes(given_back);
}

Status Library::SetLimit(int device, Bytes limit) const {
  std::array<char, kMessageSize> message = {};
  if (api_->set_limit(device, limit.count(), message.data(), message.size()) == 0) return OkStatus();
  return Status(StatusCode::kInvalidArgument, message.data());
}

StatusOr<GmlakeSleepReport> Library::Sleep(int device, const std::vector<int32_t>& dropped_tags,
                                           int64_t patience_ms) const {
  const GmlakeSleepOptions options = {sizeof(GmlakeSleepOptions), dropped_tags.data(), dropped_tags.size(),
                                      patience_ms};
  GmlakeSleepReport report = {};
  std::array<char, kMessageSize> message = {};
  if (api_->sleep(device, &options, &report, message.data(), message.size()) == 0) return report;
  return Status(StatusCode::kFailedPrecondition, message.data());
}

StatusOr<GmlakeSleepReport> Library::Wake(int device) const {
  GmlakeSleepReport report = {};
  std::array<char, kMessageSize> message = {};
  if (api_->wake(device, &report, message.data(), message.size()) == 0) return report;
  return Status(StatusCode::kFailedPrecondition, message.data());
}

StatusOr<bool> Library::IsAsleep(int device) const {
  const int asleep = api_->is_asleep(device);
  if (asleep < 0) return NoSuchDevice(device);
  return asleep == 1;
}

StatusOr<std::vector<uint64_t>> Library::SharedAddresses(int device) const {
  std::vector<uint64_t> addresses;
  int64_t count = api_->shared_addresses(device, nullptr, 0);
  while (count > static_cast<int64_t>(addresses.size())) {
    addresses.resize(static_cast<size_t>(count));
    count = api_->shared_addresses(device, addresses.data(), count);
  }
  if (count < 0) return NoSuchDevice(device);
  addresses.resize(static_cast<size_t>(count));
  return addresses;
}

Status Library::PrepareSleep(int device, std::optional<int64_t> bytes) const {
  std::array<char, kMessageSize> message = {};
  if (api_->prepare_sleep(device, bytes.value_or(-1), message.data(), message.size()) == 0) return OkStatus();
  return Status(StatusCode::kFailedPrecondition, message.data());
}

StatusOr<int64_t> Library::Unprepared(int device) const {
  std::array<char, kMessageSize> message = {};
  const int64_t bytes = api_->unprepared(device, message.data(), message.size());
  if (bytes < 0) return Status(StatusCode::kFailedPrecondition, message.data());
  return bytes;
}

Status Library::ReleaseHostStore(int device) const {
  return api_->release_host_store(device) == 0 ? OkStatus() : NoSuchDevice(device);
}

StatusOr<Library::DeviceMemory> Library::QueryMemory(int device) const {
  DeviceMemory memory = {};
  if (api_->device_memory(device, &memory.free, &memory.total) != 0) return NoSuchDevice(device);
  return memory;
}

StatusOr<std::string> Library::Probe(const std::optional<std::string>& driver_path) const {
  std::array<char, kReportSize> report = {};
  const int result = api_->probe(OrNull(driver_path), report.data(), report.size());
  if (result != 0) return Status(StatusCode::kNotSupported, report.data());
  return std::string(report.data());
}

}  // namespace gmlake
