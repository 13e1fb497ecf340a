#include "cc/pjrt/plugin/client_options.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>

namespace gmlake {

const PJRT_NamedValue* ClientOptions::Find(const std::string& name) const {
  for (const PJRT_NamedValue& value : values_) {
    if (name == std::string(value.name, value.name_size)) return &value;
  }
  return nullptr;
}

PJRT_NamedValue* ClientOptions::FindOrAdd(const char* name) {
  if (const PJRT_NamedValue* found = Find(name)) return &values_[found - values_.data()];
  PJRT_NamedValue value = {};
  value.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  value.name = name;
  value.name_size = std::strlen(name);
  values_.push_back(value);
  return &values_.back();
}

std::string ClientOptions::RequestedAllocator() const {
  const PJRT_NamedValue* allocator = Find("allocator");
  if (allocator == nullptr || allocator->type != PJRT_NamedValue_kString) return "";
  const std::string name(allocator->string_value, allocator->value_size);
  return name == "default" ? "" : name;
}

std::vector<int> ClientOptions::VisibleDevices() const {
  const PJRT_NamedValue* visible = Find("visible_devices");
  if (visible == nullptr || visible->type != PJRT_NamedValue_kInt64List) return {};
  std::vector<int> ordinals;
  std::transform(visible->int64_array_value, visible->int64_array_value + visible->value_size,
                 std::back_inserter(ordinals), [](int64_t ordinal) {
                   const bool fits = ordinal >= 0 && ordinal <= std::numeric_limits<int>::max();
                   return fits ? static_cast<int>(ordinal) : -1;
                 });
  return ordinals;
}

std::optional<double> ClientOptions::MemoryFraction() const {
  const PJRT_NamedValue* fraction = Find("memory_fraction");
  if (fraction == nullptr || fraction->type != PJRT_NamedValue_kFloat) return std::nullopt;
  return fraction->float_value;
}

std::optional<bool> ClientOptions::Preallocate() const {
  const PJRT_NamedValue* preallocate = Find("preallocate");
  if (preallocate == nullptr || preallocate->type != PJRT_NamedValue_kBool) return std::nullopt;
  return preallocate->bool_value;
}

void ClientOptions::SetString(const char* name, const char* text) {
  PJRT_NamedValue* value = FindOrAdd(name);
  value->type = PJRT_NamedValue_kString;
  value->string_value = text;
  value->value_size = std::strlen(text);
}

void ClientOptions::SetBool(const char* name, bool flag) {
  PJRT_NamedValue* value = FindOrAdd(name);
  value->type = PJRT_NamedValue_kBool;
  value->bool_value = flag;
  value->value_size = 1;
}

}  // namespace gmlake
