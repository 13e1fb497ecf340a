#include "cc/pjrt/plugin/memory_stats.h"

#include <cstddef>
#include <cstring>

namespace gmlake {
namespace {

using Args = PJRT_Device_MemoryStats_Args;

// A field of the struct and the flag that says whether it is set.
struct Field {
  int64_t Args::* value;
  bool Args::* is_set;
  int64_t number;
};

// The caller may have been built with an older header, whose struct ends earlier.
bool HasRoomFor(const Args& args, const bool& flag) {
  const auto* begin = reinterpret_cast<const char*>(&args);
  return reinterpret_cast<const char*>(&flag) + sizeof(flag) <= begin + args.struct_size;
}

}  // namespace

void WriteMemoryStats(const tsl::AllocatorStats& stats, Args* args) {
  args->bytes_in_use = stats.bytes_in_use;
  const Field fields[] = {
      {&Args::peak_bytes_in_use, &Args::peak_bytes_in_use_is_set, stats.peak_bytes_in_use},
      {&Args::num_allocs, &Args::num_allocs_is_set, stats.num_allocs},
      {&Args::largest_alloc_size, &Args::largest_alloc_size_is_set, stats.largest_alloc_size},
      {&Args::bytes_limit, &Args::bytes_limit_is_set, stats.bytes_limit.value_or(0)},
      {&Args::bytes_reserved, &Args::bytes_reserved_is_set, stats.bytes_reserved},
      {&Args::peak_bytes_reserved, &Args::peak_bytes_reserved_is_set, stats.peak_bytes_reserved},
      {&Args::bytes_reservable_limit, &Args::bytes_reservable_limit_is_set, stats.bytes_reservable_limit.value_or(0)},
      {&Args::largest_free_block_bytes, &Args::largest_free_block_bytes_is_set, stats.largest_free_block_bytes},
      {&Args::pool_bytes, &Args::pool_bytes_is_set, stats.pool_bytes.value_or(0)},
      {&Args::peak_pool_bytes, &Args::peak_pool_bytes_is_set, stats.peak_pool_bytes.value_or(0)},
  };
  for (const Field& field : fields) {
    if (!HasRoomFor(*args, args->*field.is_set)) continue;
    args->*field.value = field.number;
    args->*field.is_set = true;
  }
}

void ClearMemoryStats(Args* args) {
  constexpr size_t kFirstNumber = offsetof(Args, bytes_in_use);
  if (args->struct_size <= kFirstNumber) return;
  std::memset(reinterpret_cast<char*>(args) + kFirstNumber, 0, args->struct_size - kFirstNumber);
}

}  // namespace gmlake
