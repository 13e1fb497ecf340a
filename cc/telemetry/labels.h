// Names that a program gives to what it is doing, as numbers that fit into a lease.
//
// A label is a path: "train/step" is "step" inside "train". Each thread has a current label, which every lease that it
// asks for carries. Labels are never forgotten, so they should name kinds of work, not single steps.
#ifndef GMLAKE_TELEMETRY_LABELS_H_
#define GMLAKE_TELEMETRY_LABELS_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace gmlake {

inline constexpr int32_t kNoLabel = -1;
// Beyond so many, new names are counted under their parent: a program that numbers its labels must not fill the memory.
inline constexpr int32_t kMostLabels = 1 << 16;

// The calling thread's label. Cost: a few nanoseconds; next to nothing in a process that never set one, because finding
// a thread's own variable from a shared library takes a function call.
int32_t CurrentLabel();
void SetCurrentLabel(int32_t label);

// The label `name` inside `parent` (kNoLabel: at the top). Thread rule: any; a lock of its own.
int32_t InternLabel(int32_t parent, const std::string& name);
// Does the label's path contain this name, at whatever depth?
bool HasName(int32_t label, const std::string& name);

// "train/step"; empty for kNoLabel. And all of them, by number.
std::string LabelPath(int32_t label);
std::vector<std::string> LabelPaths();

namespace internal {
extern std::atomic<bool> any_label_was_set;
int32_t LabelOfThread();
}  // namespace internal

inline int32_t CurrentLabel() {
  return internal::any_label_was_set.load(std::memory_order_relaxed) ? internal::LabelOfThread() : kNoLabel;
}

}  // namespace gmlake

#endif  // GMLAKE_TELEMETRY_LABELS_H_
