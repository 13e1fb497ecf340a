#include "cc/emulator/calls/settings.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cc/emulator/calls/visible_devices.h"

namespace gmlake::emulator {
namespace {

constexpr size_t kGranule = size_t{2} << 20;

[[noreturn]] void Reject(const char* name, const char* value, const char* expected) {
  std::fprintf(stderr, "gmlake emulator: %s=%s is not understood; expected %s\n", name, value, expected);
  std::exit(2);
}

int64_t ToNumber(const char* name, const char* value, const char** end) {
  const int64_t number = std::strtoll(value, const_cast<char**>(end), 0);
  if (*end == value || number < 0) Reject(name, value, "a number that is not negative");
  return number;
}

int64_t Number(const char* name, const char* value, int64_t otherwise) {
  if (value == nullptr || *value == '\0') return otherwise;
  const char* end = nullptr;
  const int64_t number = ToNumber(name, value, &end);
  if (*end != '\0') Reject(name, value, "a number");
  return number;
}

size_t Size(const char* name, const char* value, size_t otherwise) {
  if (value == nullptr || *value == '\0') return otherwise;
  const char* unit = nullptr;
  const size_t number = ToNumber(name, value, &unit);
  if (*unit == '\0') return number;
  if (std::strcmp(unit, "KiB") == 0) return number << 10;
  if (std::strcmp(unit, "MiB") == 0) return number << 20;
  if (std::strcmp(unit, "GiB") == 0) return number << 30;
  Reject(name, value, "bytes, or a number with KiB, MiB or GiB");
}

// One of two words; the first is meant where nothing is said.
bool IsSecond(const char* name, const char* value, const char* first, const char* second) {
  if (value == nullptr || *value == '\0' || std::strcmp(value, first) == 0) return false;
  if (std::strcmp(value, second) == 0) return true;
  Reject(name, value, (std::string(first) + " or " + second).c_str());
}

const char* Environment(const char* name) { return std::getenv(name); }

}  // namespace

Settings ReadSettings(const char* (*get)(const char*)) {
  const auto number = [get](const char* name, int64_t otherwise) { return Number(name, get(name), otherwise); };
  const auto text = [get](const char* name) { return std::string(get(name) ? get(name) : ""); };
  const auto second = [get](const char* name, const char* one, const char* other) {
    return IsSecond(name, get(name), one, other);
  };
  Settings read;
  read.devices = static_cast<int>(number("GMLAKE_EMULATOR_DEVICES", read.devices));
  read.visible = VisibleDevices(get("CUDA_VISIBLE_DEVICES"), read.devices);
  read.memory = Size("GMLAKE_EMULATOR_MEMORY", get("GMLAKE_EMULATOR_MEMORY"), read.memory) / kGranule * kGranule;
  read.async = number("GMLAKE_EMULATOR_ASYNC", 0) != 0;
  read.delay_us = number("GMLAKE_EMULATOR_DELAY_US", 0);
  read.checks = number("GMLAKE_EMULATOR_CHECKS", 1) != 0;
  read.faults = text("GMLAKE_EMULATOR_FAULTS");
  read.refuse_double_unmap = second("GMLAKE_EMULATOR_DOUBLE_UNMAP", "accept", "refuse");
  read.hasty_pool = second("GMLAKE_EMULATOR_POOL", "right", "hasty");
  read.poison = static_cast<int>(number("GMLAKE_EMULATOR_POISON", -1));
  read.shared = text("GMLAKE_EMULATOR_SHARED");
  read.log = text("GMLAKE_EMULATOR_LOG");
  read.trace = number("GMLAKE_EMULATOR_TRACE", 0) != 0;
  return read;
}

const Settings& settings() {
  static const Settings* const read = new Settings(ReadSettings(Environment));
  return *read;
}

}  // namespace gmlake::emulator
