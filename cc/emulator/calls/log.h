// One line to the emulator's log, and the count of violations: rules of CUDA that a program under test has broken.
//
// A violation is always logged and counted. Whether the call that broke the rule also fails is up to the call: it
// answers what a real driver answers. A test asserts that the count is zero.
#ifndef GMLAKE_EMULATOR_CALLS_LOG_H_
#define GMLAKE_EMULATOR_CALLS_LOG_H_

#include <cstdint>
#include <string>

namespace gmlake::emulator {

__attribute__((format(printf, 1, 2))) void Log(const char* format, ...);

// The rules, by the word that a test may ask for.
enum class Rule {
  kMap,             // a mapping in the wrong place, with an offset, or of a part of a block
  kUnmap,           // a part of a mapping, or addresses that nobody reserved
  kDoubleUnmap,     // what is not mapped (only where the settings refuse it)
  kUnmapInUse,      // queued work may still touch the mapping
  kAccess,          // access set, or memory touched, without a mapping or without rights for that device
  kRelease,         // a block that is not held
  kReservation,     // addresses given back that are not a reservation, or are still mapped
  kFree,            // memory freed that is not allocated
  kUseAfterFree,    // work that runs after the memory it touches was freed, in stream order
  kUseBeforeAlloc,  // work that is not ordered after the allocation it touches
  kOverrun,         // work that touches memory past the end of its allocation
  kHandle,          // a stream that was destroyed
  kRace,            // copies and fills on different streams that meet in the same bytes with nothing to order them
  kCapture,         // a call that CUDA forbids while a stream is being captured
};
inline constexpr int kNumRules = 14;

const char* ToString(Rule rule);

__attribute__((format(printf, 2, 3))) void Violation(Rule rule, const char* format, ...);

uint64_t CountViolations();
uint64_t CountViolations(Rule rule);
// The first violations' messages, one a line (later ones are only counted).
std::string DescribeViolations();
void ResetViolations();

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_CALLS_LOG_H_
