#include "cc/emulator/calls/log.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "cc/emulator/calls/settings.h"

namespace gmlake::emulator {
namespace {

constexpr size_t kLongestLine = 1024;
constexpr size_t kDescribedViolations = 50;

constexpr const char* kRuleNames[kNumRules] = {
    "map",  "unmap",          "double-unmap",     "unmap-in-use", "access", "release", "reservation",
    "free", "use-after-free", "use-before-alloc", "overrun",      "handle", "race",    "capture"};

std::atomic<uint64_t> g_by_rule[kNumRules];

std::mutex& DescriptionMutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

std::string& Description() {
  static auto* const text = new std::string;
  return *text;
}

size_t& Described() {
  static size_t count = 0;
  return count;
}

FILE* LogFile() {
  static FILE* const file = [] {
    FILE* opened = settings().log.empty() ? nullptr : std::fopen(settings().log.c_str(), "a");
    return opened ? opened : stderr;
  }();
  return file;
}

void Write(const char* prefix, const char* text) {
  std::fprintf(LogFile(), "[gmlake emulator] %s%s\n", prefix, text);
  std::fflush(LogFile());
}

void Describe(const char* text) {
  std::lock_guard<std::mutex> lock(DescriptionMutex());
  if (Described()++ < kDescribedViolations) Description().append(text).append("\n");
}

}  // namespace

const char* ToString(Rule rule) { return kRuleNames[static_cast<int>(rule)]; }

void Log(const char* format, ...) {
  char line[kLongestLine];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  Write("", line);
}

void Violation(Rule rule, const char* format, ...) {
  char line[kLongestLine];
  const int prefix = std::snprintf(line, sizeof line, "%s: ", ToString(rule));
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line + prefix, sizeof line - prefix, format, arguments);
  va_end(arguments);
  g_by_rule[static_cast<int>(rule)]++;
  Describe(line);
  Write("VIOLATION ", line);
}

uint64_t CountViolations() {
  uint64_t sum = 0;
  for (const auto& count : g_by_rule) sum += count;
  return sum;
}

uint64_t CountViolations(Rule rule) { return g_by_rule[static_cast<int>(rule)]; }

std::string DescribeViolations() {
  std::lock_guard<std::mutex> lock(DescriptionMutex());
  return Description();
}

void ResetViolations() {
  std::lock_guard<std::mutex> lock(DescriptionMutex());
  for (auto& count : g_by_rule) count = 0;
  Description().clear();
  Described() = 0;
}

}  // namespace gmlake::emulator
