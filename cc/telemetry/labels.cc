#include "cc/telemetry/labels.h"

#include <array>
#include <atomic>
#include <map>
#include <utility>

#include "cc/base/mutex.h"

namespace gmlake {
namespace {

struct Label {
  int32_t parent;
  std::string name;
};

thread_local int32_t current = kNoLabel;

// Model: labels by number; a parent has a smaller number than its children. Threads: any. Entries never change, so
// parents are read without the lock: `count` is raised when an entry is complete.
class Table {
 public:
  int32_t Intern(int32_t parent, const std::string& name) {
    const MutexLock lock(&mutex_);
    const auto [found, is_new] = numbers_.try_emplace({parent, name}, kNoLabel);
    if (!is_new) return found->second;
    if (labels_.size() == kMostLabels) {
      numbers_.erase(found);
      return parent;
    }
    const int32_t number = static_cast<int32_t>(labels_.size());
    labels_.push_back({parent, name});
    parents_[number].store(parent, std::memory_order_release);
    found->second = number;
    return number;
  }

  int32_t ParentOf(int32_t label) const { return parents_[label].load(std::memory_order_acquire); }

  Label Get(int32_t label) {
    const MutexLock lock(&mutex_);
    return labels_[label];
  }

  int32_t count() {
    const MutexLock lock(&mutex_);
    return static_cast<int32_t>(labels_.size());
  }

 private:
  Mutex mutex_;
  std::vector<Label> labels_ GMLAKE_GUARDED_BY(mutex_);
  std::map<std::pair<int32_t, std::string>, int32_t> numbers_ GMLAKE_GUARDED_BY(mutex_);
  std::array<std::atomic<int32_t>, kMostLabels> parents_;
};

// Never destroyed: threads may ask while the process ends.
Table& Labels() {
  static Table* const table = new Table;
  return *table;
}

}  // namespace

std::atomic<bool> internal::any_label_was_set{false};
int32_t internal::LabelOfThread() { return current; }

void SetCurrentLabel(int32_t label) {
  current = label;
  internal::any_label_was_set.store(true, std::memory_order_relaxed);
}

int32_t InternLabel(int32_t parent, const std::string& name) { return Labels().Intern(parent, name); }

bool HasName(int32_t label, const std::string& name) {
  for (; label != kNoLabel; label = Labels().ParentOf(label)) {
    if (Labels().Get(label).name == name) return true;
  }
  return false;
}

std::string LabelPath(int32_t label) {
  if (label == kNoLabel) return "";
  const Label own = Labels().Get(label);
  const std::string above = LabelPath(own.parent);
  return above.empty() ? own.name : above + "/" + own.name;
}

std::vector<std::string> LabelPaths() {
  std::vector<std::string> paths;
  const int32_t count = Labels().count();
  for (int32_t label = 0; label < count; ++label) paths.push_back(LabelPath(label));
  return paths;
}

}  // namespace gmlake
