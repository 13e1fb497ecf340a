// Watches every byte under churn, on a real GPU (or whatever driver is named):
//
//   bazel/run build //cc/safety:pattern_churn_main
//   bazel-bin/cc/safety/pattern_churn_main --seconds=600 --limit-mib=98304
//   compute-sanitizer --tool memcheck bazel-bin/cc/safety/pattern_churn_main --seconds=60 --limit-mib=8192
//
// Needs nothing on the machine it runs on but a driver and a C library. Prints one line of JSON; exit status 1: a word
// was wrong, an invariant did not hold, or a call failed. Options: --seconds=N (60) --operations=N --limit-mib=N (4096)
// --seed=N (1) --streams=N (4) --device=N (0) --driver=PATH --copies (fills and copies in place of kernels) --misuse
// (breaks patterns on purpose: the exit status must then be 1).
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "cc/driver/cuda_driver.h"
#include "cc/driver/cuda_functions.h"
#include "cc/driver/cuda_library.h"
#include "cc/driver/testing/pattern_writer.h"
#include "cc/safety/pattern_churn.h"

namespace gmlake {
namespace {

struct CommandLine {
  PatternChurnOptions churn;
  int device = 0;
  std::string driver;
  bool copies = false;
};

const char* ValueOf(const char* argument, const char* name) {
  const size_t length = std::strlen(name);
  return std::strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : nullptr;
}

bool ParseFlag(const char* argument, CommandLine* line) {
  if (std::strcmp(argument, "--copies") == 0) return line->copies = true;
  return std::strcmp(argument, "--misuse") == 0 && (line->churn.misuse = true);
}

bool Parse(const char* argument, CommandLine* line) {
  if (const char* value = ValueOf(argument, "--seconds")) return line->churn.seconds = std::atof(value), true;
  if (const char* value = ValueOf(argument, "--operations")) return line->churn.operations = std::atoll(value), true;
  if (const char* value = ValueOf(argument, "--limit-mib")) return line->churn.limit = MiB(std::atoll(value)), true;
  if (const char* value = ValueOf(argument, "--seed")) return line->churn.seed = std::atoll(value), true;
  if (const char* value = ValueOf(argument, "--streams")) return line->churn.streams = std::atoi(value), true;
  if (const char* value = ValueOf(argument, "--device")) return line->device = std::atoi(value), true;
  if (const char* value = ValueOf(argument, "--driver")) return line->driver = value, true;
  return ParseFlag(argument, line);
}

int Fail(const std::string& message) { return std::fprintf(stderr, "%s\n", message.c_str()), 1; }

int Churn(const CommandLine& line, const CudaFunctions& cuda) {
  const auto ink = (line.copies ? MakeCopyInk : MakeKernelInk)(cuda, line.driver, line.device);
  if (!ink.ok()) return Fail(ink.status().message());
  const auto driver = CudaDriver::Open(cuda, line.device);
  if (!driver.ok()) return Fail(driver.status().message());
  PatternChurn churn(driver->get(), ink->get(), line.churn);
  const StatusOr<PatternChurnReport> report = churn.Run();
  if (!report.ok()) return Fail(report.status().message());
  std::printf("%s\n", ToJson(*report).c_str());
  return report->wrong_words == 0 && report->broken.empty() ? 0 : 1;
}

int Main(int argc, char** argv) {
  CommandLine line;
  line.churn.seconds = 60;
  for (int i = 1; i < argc; ++i) {
    if (!Parse(argv[i], &line)) return Fail(std::string("unknown option ") + argv[i]);
  }
  const auto cuda = LoadCuda(line.driver);
  return cuda.ok() ? Churn(line, *cuda) : Fail(cuda.status().message());
}

}  // namespace
}  // namespace gmlake

int main(int argc, char** argv) { return gmlake::Main(argc, argv); }
