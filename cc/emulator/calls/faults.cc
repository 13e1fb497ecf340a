#include "cc/emulator/calls/faults.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cc/emulator/calls/log.h"
#include "cc/emulator/calls/settings.h"

namespace gmlake::emulator {
namespace {

// Reads digits at *position; false if there are none.
bool ReadNumber(const std::string& text, size_t* position, int64_t* number) {
  const char* begin = text.c_str() + *position;
  char* end = nullptr;
  *number = std::strtoll(begin, &end, 10);
  *position += end - begin;
  return end != begin && *number >= 0;
}

bool Accept(const std::string& text, size_t* position, char wanted) {
  if (*position >= text.size() || text[*position] != wanted) return false;
  ++*position;
  return true;
}

}  // namespace

bool FaultScript::Clause::Matches(const char* call) const {
  return is_prefix ? std::strncmp(call, name.c_str(), name.size()) == 0 : name == call;
}

bool FaultScript::Clause::Fires() {
  ++calls;
  switch (selector) {
    case Selector::kOnce: return calls == number;
    case Selector::kFrom: return calls >= number;
    case Selector::kRandom: return static_cast<int64_t>(random() % 100) < number;
    case Selector::kSlow: return false;
  }
  return false;
}

void FaultScript::Clause::SetName(const std::string& text) {
  name = text;
  is_prefix = name.back() == '*';
  if (is_prefix) name.pop_back();
}

bool FaultScript::Clause::ReadSelector(char symbol, const std::string& text, size_t* position) {
  if (!ReadNumber(text, position, &number)) return false;
  if (symbol == '@') {
    selector = Accept(text, position, '+') ? Selector::kFrom : Selector::kOnce;
    return true;
  }
  selector = symbol == '%' ? Selector::kRandom : Selector::kSlow;
  if (selector == Selector::kSlow || !Accept(text, position, '/')) return true;
  int64_t seed = 0;
  if (!ReadNumber(text, position, &seed)) return false;
  random.seed(seed);
  return true;
}

bool FaultScript::Clause::ReadCode(const std::string& text, size_t* position) {
  if (!Accept(text, position, '=')) return true;
  int64_t read = 0;
  if (!ReadNumber(text, position, &read)) return false;
  code = static_cast<int>(read);
  return true;
}

std::optional<FaultScript::Clause> FaultScript::Parse(const std::string& text) {
  size_t position = text.find_first_of("@%~");
  if (position == std::string::npos || position == 0) return std::nullopt;
  Clause clause;
  clause.SetName(text.substr(0, position));
  const char symbol = text[position++];
  const bool is_read = clause.ReadSelector(symbol, text, &position) && clause.ReadCode(text, &position);
  if (!is_read || position != text.size()) return std::nullopt;
  return clause;
}

std::optional<std::vector<FaultScript::Clause>> FaultScript::ParseAll(const std::string& text) {
  std::vector<Clause> clauses;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    std::optional<Clause> clause = Parse(text.substr(begin, end - begin));
    if (!clause) return std::nullopt;
    clauses.push_back(*clause);
    begin = end + 1;
  }
  return clauses;
}

bool FaultScript::Set(const std::string& text) {
  std::optional<std::vector<Clause>> clauses = ParseAll(text);
  if (!clauses) return false;
  std::lock_guard<std::mutex> lock(mutex_);
  clauses_ = std::move(*clauses);
  return true;
}

bool FaultScript::empty() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return clauses_.empty();
}

Fault FaultScript::Next(const char* name) {
  std::lock_guard<std::mutex> lock(mutex_);
  Fault fault;
  for (Clause& clause : clauses_) {
    if (!clause.Matches(name)) continue;
    if (clause.Fires()) fault.code = clause.code;
    if (clause.selector == Selector::kSlow) fault.delay_us += clause.number;
  }
  return fault;
}

FaultScript& faults() {
  static FaultScript* const script = [] {
    auto* read = new FaultScript;
    if (!read->Set(settings().faults)) {
      Log("GMLAKE_EMULATOR_FAULTS=%s is not understood (see cc/emulator/calls/faults.h)", settings().faults.c_str());
      std::exit(2);
    }
    return read;
  }();
  return *script;
}

}  // namespace gmlake::emulator
