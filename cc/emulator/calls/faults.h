// The fault script: which calls of the driver fail, and which are slow.
//
// A script is clauses separated by commas, each `CALL SELECTOR [=CODE]`:
//   cuMemCreate@3        the third call fails (counted from when the script was set)
//   cuMemCreate@3+       the third and every later call fails
//   cuMemMap%10/7        one call in ten fails, at random, with seed 7
//   cuMemUnmap~200       every call takes 200 microseconds longer, none fails
// CALL is an entry point's exact name (cuMemAlloc_v2), or a beginning of one followed by `*`. CODE is the CUresult to
// answer; without it, 2 (out of memory).
#ifndef GMLAKE_EMULATOR_CALLS_FAULTS_H_
#define GMLAKE_EMULATOR_CALLS_FAULTS_H_

#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace gmlake::emulator {

// What the script wants of one call.
struct Fault {
  int code = 0;  // 0: the call goes on
  int64_t delay_us = 0;
};

// A parsed script and how far it has got. Thread rule: any thread. Cost: one comparison of names for each clause.
class FaultScript {
 public:
  // False, and the script stays as it was, if `text` is not in the grammar.
  bool Set(const std::string& text);
  bool empty() const;
  // Called once for each call of `name`.
  Fault Next(const char* name);

 private:
  enum class Selector { kOnce, kFrom, kRandom, kSlow };
  struct Clause {
    std::string name;
    bool is_prefix = false;
    Selector selector = Selector::kOnce;
    int64_t number = 0;  // call, percent or microseconds
    int code = 2;
    int64_t calls = 0;
    std::mt19937_64 random;

    bool Matches(const char* call) const;
    bool Fires();
    void SetName(const std::string& text);
    // Reads what follows `symbol` (`3+`, `10/7`) and moves past it.
    bool ReadSelector(char symbol, const std::string& text, size_t* position);
    bool ReadCode(const std::string& text, size_t* position);
  };

  static std::optional<Clause> Parse(const std::string& text);
  static std::optional<std::vector<Clause>> ParseAll(const std::string& text);

  mutable std::mutex mutex_;
  std::vector<Clause> clauses_;
};

FaultScript& faults();

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_CALLS_FAULTS_H_
