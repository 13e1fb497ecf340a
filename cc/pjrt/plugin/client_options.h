// The options of a new PJRT client, as a list that we may change. The caller's own list stays as it is.
#ifndef GMLAKE_PJRT_PLUGIN_CLIENT_OPTIONS_H_
#define GMLAKE_PJRT_PLUGIN_CLIENT_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

// Model: a copy of the list whose strings and arrays still belong to the caller, or are literals. Lives for one call.
class ClientOptions {
 public:
  ClientOptions(const PJRT_NamedValue* options, size_t count) : values_(options, options + count) {}

  // The allocator that the host asked for by name; empty where it left that to XLA.
  std::string RequestedAllocator() const;
  // The ordinals that the host restricted the client to; empty means all. A number that is no ordinal becomes -1.
  std::vector<int> VisibleDevices() const;
  // What the host asked XLA's own allocator for; nothing where it left that to XLA.
  std::optional<double> MemoryFraction() const;
  std::optional<bool> Preallocate() const;

  // `value` must be a literal.
  void SetString(const char* name, const char* value);
  void SetBool(const char* name, bool value);

  const PJRT_NamedValue* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  const PJRT_NamedValue* Find(const std::string& name) const;
  PJRT_NamedValue* FindOrAdd(const char* name);

  std::vector<PJRT_NamedValue> values_;
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_PLUGIN_CLIENT_OPTIONS_H_
