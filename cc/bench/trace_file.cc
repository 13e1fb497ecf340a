#include "cc/bench/trace_file.h"

#include <vector>

#include "cc/bench/npz.h"

namespace gmlake::bench {
namespace {

constexpr const char* kColumns[] = {"op", "id", "size", "stream", "time_us"};

std::string NameOf(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  return file.substr(0, file.rfind('.'));
}

Status CheckColumns(const std::string& path, const IntegerArrays& arrays) {
  for (const char* column : kColumns) {
    const auto it = arrays.find(column);
    if (it == arrays.end()) {
      return Status(StatusCode::kInvalidArgument, path + ": no array '" + column + "'");
    }
    if (it->second.size() != arrays.at("op").size()) {
      return Status(StatusCode::kInvalidArgument, path + ": array '" + column + "' is not as long as 'op'");
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Trace> ReadTrace(const std::string& path) {
  const auto arrays = ReadNpz(path);
  if (!arrays.ok()) return arrays.status();
  GMLAKE_RETURN_IF_ERROR(CheckColumns(path, *arrays));
  const auto &op = arrays->at("op"), &id = arrays->at("id"), &size = arrays->at("size");
  const auto &stream = arrays->at("stream"), &time_us = arrays->at("time_us");
  std::vector<RawEvent> events;
  events.reserve(op.size());
  for (size_t i = 0; i < op.size(); ++i) events.push_back({op[i], id[i], size[i], stream[i], time_us[i]});
  return MakeTrace(NameOf(path), events);
}

}  // namespace gmlake::bench
