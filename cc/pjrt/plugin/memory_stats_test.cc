#include "cc/pjrt/plugin/memory_stats.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

namespace gmlake {
namespace {

tsl::AllocatorStats Sample() {
  tsl::AllocatorStats stats;
  stats.num_allocs = 1;
  stats.bytes_in_use = 2;
  stats.peak_bytes_in_use = 3;
  stats.largest_alloc_size = 4;
  stats.bytes_limit = 5;
  stats.bytes_reserved = 6;
  stats.peak_bytes_reserved = 7;
  stats.bytes_reservable_limit = 8;
  stats.largest_free_block_bytes = 9;
  stats.pool_bytes = 10;
  stats.peak_pool_bytes = 11;
  return stats;
}

void ExpectSet(bool is_set, int64_t number, int64_t expected) {
  EXPECT_TRUE(is_set) << "of the field that should be " << expected;
  EXPECT_EQ(number, expected);
}

TEST(MemoryStatsTest, WritesEveryNumberAndEveryFlag) {
  PJRT_Device_MemoryStats_Args args = {};
  args.struct_size = PJRT_Device_MemoryStats_Args_STRUCT_SIZE;
  WriteMemoryStats(Sample(), &args);
  EXPECT_EQ(args.bytes_in_use, 2);
  ExpectSet(args.num_allocs_is_set, args.num_allocs, 1);
  ExpectSet(args.peak_bytes_in_use_is_set, args.peak_bytes_in_use, 3);
  ExpectSet(args.largest_alloc_size_is_set, args.largest_alloc_size, 4);
  ExpectSet(args.bytes_limit_is_set, args.bytes_limit, 5);
  ExpectSet(args.bytes_reserved_is_set, args.bytes_reserved, 6);
  ExpectSet(args.peak_bytes_reserved_is_set, args.peak_bytes_reserved, 7);
  ExpectSet(args.bytes_reservable_limit_is_set, args.bytes_reservable_limit, 8);
  ExpectSet(args.largest_free_block_bytes_is_set, args.largest_free_block_bytes, 9);
  ExpectSet(args.pool_bytes_is_set, args.pool_bytes, 10);
  ExpectSet(args.peak_pool_bytes_is_set, args.peak_pool_bytes, 11);
}

TEST(MemoryStatsTest, StaysInsideTheStructOfAnOlderCaller) {
  PJRT_Device_MemoryStats_Args args;
  std::memset(&args, 0x5A, sizeof(args));
  args.struct_size = offsetof(PJRT_Device_MemoryStats_Args, pool_bytes);
  WriteMemoryStats(Sample(), &args);
  EXPECT_EQ(args.largest_free_block_bytes, 9);
  EXPECT_EQ(args.pool_bytes, 0x5A5A5A5A5A5A5A5A);
  ClearMemoryStats(&args);
  EXPECT_EQ(args.largest_free_block_bytes, 0);
  EXPECT_EQ(args.pool_bytes, 0x5A5A5A5A5A5A5A5A);
}

TEST(MemoryStatsTest, ClearsWhatTheStockPluginLeftUnwritten) {
  PJRT_Device_MemoryStats_Args args;
  std::memset(&args, 0x5A, sizeof(args));
  args.struct_size = PJRT_Device_MemoryStats_Args_STRUCT_SIZE;
  ClearMemoryStats(&args);
  EXPECT_FALSE(args.num_allocs_is_set);
  EXPECT_FALSE(args.peak_pool_bytes_is_set);
}

}  // namespace
}  // namespace gmlake
