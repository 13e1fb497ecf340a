// Replays the kept inputs of the fuzzer, so that what it once reached stays tested where there is no fuzzer.
//
// corpus.txt holds one input a line, as hexadecimal digits; tools/fuzz adds to it.

#include <fstream>
#include <string>
#include <vector>

#include "cc/safety/fuzz_target.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

std::vector<uint8_t> Bytes16(const std::string& digits) {
  std::vector<uint8_t> bytes;
  for (size_t at = 0; at + 2 <= digits.size(); at += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoi(digits.substr(at, 2), nullptr, 16)));
  }
  return bytes;
}

TEST(Corpus, BreaksNothing) {
  std::ifstream file("cc/safety/corpus.txt");
  int inputs = 0;
  for (std::string line; std::getline(file, line); ++inputs) {
    const std::vector<uint8_t> input = Bytes16(line);
    ASSERT_EQ(ExecuteInput(input.data(), input.size()).problem, "") << line;
    EXPECT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
  }
  EXPECT_GE(inputs, 50);
}

}  // namespace
}  // namespace gmlake
