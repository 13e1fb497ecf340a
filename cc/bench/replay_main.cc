// The replay of traces as a program for those who work on the policy; users have `gmlake replay`.
//
//   bazel/run run -c opt //cc/bench:replay_main -- --find-min-limit --passes=3 $PWD/tests/traces/*.npz
//
// Prints one line of JSON for each trace. Options: --policy=NAME (repeatable) --limit=BYTES --find-min-limit
// --passes=N --repeats=N --verify; --churn=0.95 [--churn-limit=BYTES] [--churn-requests=N] [--seed=N] and
// --threshold=NAME:VALUE (repeatable; of gmlake, cc/core/tables/thresholds.h);
// --adversary=NAME|all [--churn-limit=BYTES] [--seed=N] for generated traces, replayed under that limit.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "cc/bench/adversary.h"
#include "cc/bench/churn.h"
#include "cc/bench/gmlake_policy.h"
#include "cc/bench/policies.h"
#include "cc/bench/replay.h"
#include "cc/bench/replay_json.h"
#include "cc/bench/threshold_option.h"
#include "cc/bench/trace_file.h"

namespace gmlake::bench {
namespace {

struct CommandLine {
  ReplayOptions replay;
  Thresholds thresholds;
  ChurnOptions churn;
  bool wants_churn = false;
  std::optional<std::string> adversary;
  std::vector<std::string> policies;
  std::vector<std::string> paths;
  std::optional<std::string> unknown;
};

// The value of `--name=value`, or null.
const char* ValueOf(const char* argument, const char* name) {
  const size_t length = std::strlen(name);
  return std::strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : nullptr;
}

bool ParseReplay(const char* argument, CommandLine* line) {
  ReplayOptions& replay = line->replay;
  if (const char* value = ValueOf(argument, "--policy")) return line->policies.push_back(value), true;
  if (const char* value = ValueOf(argument, "--limit")) return replay.limit = Bytes(std::atoll(value)), true;
  if (const char* value = ValueOf(argument, "--passes")) return replay.passes = std::atoi(value), true;
  if (const char* value = ValueOf(argument, "--repeats")) return replay.repeats = std::atoi(value), true;
  if (std::strcmp(argument, "--find-min-limit") == 0) return replay.find_min_limit = true;
  if (std::strcmp(argument, "--verify") == 0) return replay.verify = true;
  return false;
}

bool ParseThreshold(const char* argument, CommandLine* line) {
  const char* value = ValueOf(argument, "--threshold");
  if (value == nullptr || !SetThreshold(value, &line->thresholds)) return false;
  line->replay.make_policy = [thresholds = line->thresholds](Driver* driver, std::optional<Bytes> limit) {
    return std::make_unique<GmlakePolicy>(driver, limit.value_or(driver->QueryMemory()->total), thresholds);
  };
  return true;
}

bool ParseChurn(const char* argument, CommandLine* line) {
  ChurnOptions& churn = line->churn;
  if (const char* value = ValueOf(argument, "--churn")) {
    churn.utilisation = std::atof(value);
    return line->wants_churn = true;
  }
  if (const char* value = ValueOf(argument, "--churn-limit")) return churn.limit = Bytes(std::atoll(value)), true;
  if (const char* value = ValueOf(argument, "--churn-requests")) return churn.requests = std::atoi(value), true;
  if (const char* value = ValueOf(argument, "--adversary")) return line->adversary = value, true;
  if (const char* value = ValueOf(argument, "--seed")) return churn.seed = std::atoll(value), true;
  return false;
}

CommandLine Parse(int argc, char** argv) {
  CommandLine line;
  for (int i = 1; i < argc; ++i) {
    if (ParseReplay(argv[i], &line) || ParseChurn(argv[i], &line) || ParseThreshold(argv[i], &line)) continue;
    if (argv[i][0] == '-') line.unknown = argv[i];
    line.paths.push_back(argv[i]);
  }
  if (line.policies.empty()) line.policies.push_back("gmlake");
  return line;
}

bool Run(const StatusOr<Trace>& trace, ReplayOptions options, const std::vector<std::string>& policies) {
  if (!trace.ok()) return std::fprintf(stderr, "%s\n", trace.status().message().c_str()), false;
  for (const std::string& policy : policies) {
    options.policy = policy;
    const auto result = Replay(*trace, options);
    if (!result.ok()) return std::fprintf(stderr, "%s\n", result.status().message().c_str()), false;
    std::printf("%s\n", ToJson(*result).c_str());
    std::fflush(stdout);
  }
  return true;
}

bool RunChurn(const CommandLine& line) {
  ReplayOptions options = line.replay;
  options.limit = line.churn.limit;
  char name[32];
  std::snprintf(name, sizeof(name), "churn-%.4g", line.churn.utilisation);
  return Run(MakeTrace(name, MakeChurn(line.churn)), options, line.policies);
}

bool IsAdversary(const std::string& name) {
  const std::vector<std::string>& names = AdversaryNames();
  return name == "all" || std::find(names.begin(), names.end(), name) != names.end();
}

bool RunAdversaries(const CommandLine& line) {
  if (!IsAdversary(*line.adversary)) {
    return std::fprintf(stderr, "unknown adversary %s\n", line.adversary->c_str()), false;
  }
  ReplayOptions options = line.replay;
  options.limit = line.churn.limit;
  bool is_ok = true;
  for (const std::string& name : AdversaryNames()) {
    if (*line.adversary != "all" && *line.adversary != name) continue;
    const auto trace = MakeTrace(name, MakeAdversary(name, line.churn.limit, line.churn.seed));
    is_ok = Run(trace, options, line.policies) && is_ok;
  }
  return is_ok;
}

int Main(int argc, char** argv) {
  const CommandLine line = Parse(argc, argv);
  if (line.unknown) return std::fprintf(stderr, "unknown option %s\n", line.unknown->c_str()), 2;
  bool is_ok = !line.wants_churn || RunChurn(line);
  if (line.adversary) is_ok = RunAdversaries(line) && is_ok;
  for (const std::string& path : line.paths) is_ok = Run(ReadTrace(path), line.replay, line.policies) && is_ok;
  return is_ok ? 0 : 2;
}

}  // namespace
}  // namespace gmlake::bench

int main(int argc, char** argv) { return gmlake::bench::Main(argc, argv); }
