// Replays the kept inputs of the fuzzer, so that what it once reached stays tested where there is no fuzzer.
//
// One input a line, as hexadecimal digits. tools/fuzz writes corpus.txt anew; found.txt holds what once broke
// something, for good.

#include <fstream>
#include <string>
#include <vector>

#include "cc/safety/fuzz_target.h"
#include "gtest/gtest.h"

namespace gmlake {
namespace {

std::vector<uint8_t> BytesOf(const std::string& digits) {
  std::vector<uint8_t> bytes;
  for (size_t at = 0; at + 2 <= digits.size(); at += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoi(digits.substr(at, 2), nullptr, 16)));
  }
  return bytes;
}

int Replay(const char* path) {
  std::ifstream file(path);
  int inputs = 0;
  for (std::string line; std::getline(file, line); ++inputs) {
    const std::vector<uint8_t> input = BytesOf(line);
    EXPECT_EQ(ExecuteInput(input.data(), input.size()).problem, "") << line;
    EXPECT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
  }
  return inputs;
}

TEST(Corpus, BreaksNothing) { EXPECT_GE(Replay("cc/safety/corpus.txt"), 50); }

TEST(Corpus, WhatOnceBrokeSomethingBreaksNothing) { EXPECT_GE(Replay("cc/safety/found.txt"), 1); }

}  // namespace
}  // namespace gmlake
