#include "cc/emulator/device/operation.h"

#include <algorithm>
#include <shared_mutex>

#include "cc/emulator/device/machine.h"

namespace gmlake::emulator {

bool Operation::Touches(uint64_t begin, size_t size) const {
  if (!enabled) return false;
  const auto overlaps = [&](const Span& span) { return span.Overlaps(begin, size); };
  if (std::any_of(spans.begin(), spans.end(), overlaps)) return true;
  const auto touches = [&](const Operation& child) { return child.Touches(begin, size); };
  return children != nullptr && std::any_of(children->begin(), children->end(), touches);
}

// While memory is touched its mappings must stay; work that touches none may itself change mappings (a free does).
void Execute(const Operation& operation) {
  if (!operation.enabled) return;
  if (operation.children != nullptr) {
    for (const Operation& child : *operation.children) Execute(child);
    return;
  }
  std::shared_lock<std::shared_mutex> pages(machine().pages, std::defer_lock);
  if (!operation.spans.empty()) pages.lock();
  for (const Span& span : operation.spans) {
    if (!CheckSpan(span, operation.what.c_str(), Moment::kRun)) return;
  }
  if (operation.run) operation.run();
}

}  // namespace gmlake::emulator
