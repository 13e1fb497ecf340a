// Asks a CUDA driver what it does in the corners that an allocator depends on, and prints one `question = answer` a
// line.
//
// usage: questions PATH_OF_LIBCUDA [GROUP...]      (default: every group; peer questions need two devices)
//
// The answers of a real GPU are recorded beside this file (h200_answers.txt); a test asks the emulator the same
// questions and compares. An answer is the CUresult's number unless the question says otherwise.
#include <cstring>
#include <string>
#include <vector>

#include "cc/emulator/conformance/capture_questions.h"
#include "cc/emulator/conformance/driver_under_test.h"
#include "cc/emulator/conformance/steps.h"

namespace gmlake::conformance {
namespace {

long long FreeMemory() {
  size_t free = 0, total = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemGetInfo)(&free, &total));
  return static_cast<long long>(free);
}

void AskAboutCreation() {
  const CUmemAllocationProp prop = Pinned(0);
  size_t granularity = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemGetAllocationGranularity)(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  Answer("create.granularity_minimum_bytes", granularity);
  CUmemGenericAllocationHandle handle = 0;
  Answer("create.size_zero", Create(&handle, 0));
  Answer("create.size_unaligned", Create(&handle, kGranule + 4096));
  Answer("create.more_than_the_device_has", Create(&handle, size_t{1} << 42));
  handle = MustCreate(2 * kGranule);
  Answer("release.once", Release(handle));
  Answer("release.twice", Release(handle));
  const CUdeviceptr at = MustReserve(kGranule);
  Answer("map.released_handle", Map(at, kGranule, handle));
}

void AskAboutReservations() {
  CUdeviceptr at = 0;
  auto reserve = GMLAKE_CALL(cuMemAddressReserve);
  Answer("reserve.size_zero", reserve(&at, 0, 0, 0, 0));
  Answer("reserve.size_of_a_page", reserve(&at, 4096, 0, 0, 0));
  Answer("reserve.size_unaligned", reserve(&at, kGranule + 100, 0, 0, 0));
  Answer("reserve.alignment_not_power_of_two", reserve(&at, kGranule, 3 * kGranule, 0, 0));
  Answer("reserve.large_alignment", reserve(&at, kGranule, 64 * kGranule, 0, 0));
  Answer("reserve.is_aligned_as_asked", at % (64 * kGranule) == 0);
  at = MustReserve(4 * kGranule);
  Answer("address_free.half", FreeAddress(at, 2 * kGranule));
  Answer("address_free.inside", FreeAddress(at + kGranule, kGranule));
  Answer("address_free.whole", FreeAddress(at, 4 * kGranule));
  Answer("address_free.twice", FreeAddress(at, 4 * kGranule));
  Pair mapped;
  Answer("address_free.while_mapped", FreeAddress(mapped.at, 4 * kGranule));
}

void AskAboutMapping() {
  const CUdeviceptr at = MustReserve(4 * kGranule);
  const auto block = MustCreate(2 * kGranule);
  Answer("map.offset_not_zero", Map(at, kGranule, block, kGranule));
  Answer("map.prefix", Map(at, kGranule, block));
  Answer("map.larger_than_block", Map(at, 4 * kGranule, block));
  Answer("map.address_unaligned", Map(at + 4096, 2 * kGranule, block));
  Answer("map.past_the_reservation", Map(at + 3 * kGranule, 2 * kGranule, block));
  Answer("map.whole", Map(at, 2 * kGranule, block));
  Answer("map.over_a_mapping", Map(at, 2 * kGranule, block));
  Answer("map.overlapping_a_mapping", Map(at + kGranule, 2 * kGranule, block));
  Answer("map.alias_in_the_same_reservation", Map(at + 2 * kGranule, 2 * kGranule, block));
  Answer("map.unreserved_address", Map(CUdeviceptr{1} << 45, 2 * kGranule, block));
  Answer("release.while_mapped", Release(block));
  Answer("map.handle_released_but_mapped_elsewhere", Map(MustReserve(2 * kGranule), 2 * kGranule, block));
}

void AskAboutAccess() {
  Pair pair;
  Answer("access.part_of_a_mapping", SetAccess(pair.at, kGranule / 2));
  Answer("access.two_mappings", SetAccess(pair.at, 2 * kGranule));
  Answer("access.one_of_two_mappings", SetAccess(pair.at, kGranule));
  Answer("access.beyond_what_is_mapped", SetAccess(pair.at, 3 * kGranule));
  Answer("access.unmapped", SetAccess(pair.at + 2 * kGranule, kGranule));
  Answer("access.unknown_device", SetAccess(pair.at, 2 * kGranule, 63));
  const CUmemLocation here = AccessOf(0).location;
  unsigned long long flags = 99;
  Answer("access.get", GMLAKE_CALL(cuMemGetAccess)(&flags, &here, pair.at));
  Answer("access.get_flags", flags);
  const auto block = MustCreate(2 * kGranule);
  const CUdeviceptr at = MustReserve(2 * kGranule);
  GMLAKE_MUST(Map(at, 2 * kGranule, block));
  Answer("access.get_before_set", GMLAKE_CALL(cuMemGetAccess)(&flags, &here, at));
  Answer("access.get_before_set_flags", flags);
  Answer("access.first_half_of_a_block", SetAccess(at, kGranule));
}

void AskAboutUnmapping() {
  Pair pair;
  Answer("unmap.two_mappings_at_once", Unmap(pair.at, 2 * kGranule));
  Answer("unmap.twice", Unmap(pair.at, 2 * kGranule));
  Answer("unmap.never_mapped", Unmap(pair.at + 2 * kGranule, kGranule));
  Answer("unmap.unreserved", Unmap(CUdeviceptr{1} << 45, kGranule));
  Pair holed;
  Answer("unmap.mapping_and_hole", Unmap(holed.at, 3 * kGranule));
  Answer("unmap.first_after_mapping_and_hole", Unmap(holed.at, kGranule));
  Answer("unmap.second_after_mapping_and_hole", Unmap(holed.at + kGranule, kGranule));
  const auto block = MustCreate(2 * kGranule);
  const CUdeviceptr at = MustReserve(2 * kGranule);
  GMLAKE_MUST(Map(at, 2 * kGranule, block));
  Answer("unmap.first_half", Unmap(at, kGranule));
  Answer("unmap.second_half", Unmap(at + kGranule, kGranule));
  Answer("unmap.whole_after_half", Unmap(at, 2 * kGranule));
}

void AskWhenMemoryReturns() {
  const long long before = FreeMemory();
  const auto block = MustCreate(64 * kGranule);
  const CUdeviceptr at = MustReserve(64 * kGranule);
  const CUdeviceptr alias = MustReserve(64 * kGranule);
  GMLAKE_MUST(Map(at, 64 * kGranule, block));
  GMLAKE_MUST(Map(alias, 64 * kGranule, block));
  Answer("memory.taken_by_a_block_and_two_mappings_granules", (before - FreeMemory()) / (long long)kGranule);
  GMLAKE_MUST(Release(block));
  GMLAKE_MUST(Unmap(at, 64 * kGranule));
  Answer("memory.taken_after_release_and_one_unmap_granules", (before - FreeMemory()) / (long long)kGranule);
  GMLAKE_MUST(Unmap(alias, 64 * kGranule));
  Answer("memory.taken_after_release_and_both_unmaps_granules", (before - FreeMemory()) / (long long)kGranule);
}

void AskAboutPointers() {
  Pair pair;
  CUdeviceptr base = 0;
  size_t size = 0;
  Answer("pointer.address_range_of_second_mapping",
         GMLAKE_CALL(cuMemGetAddressRange)(&base, &size, pair.at + kGranule + 5));
  Answer("pointer.address_range_base_granules", (base - pair.at) / kGranule);
  Answer("pointer.address_range_size_granules", size / kGranule);
  auto attribute = GMLAKE_CALL(cuPointerGetAttribute);
  CUdeviceptr start = 0;
  Answer("pointer.range_start", attribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, pair.at + kGranule));
  Answer("pointer.range_start_granules", (start - pair.at) / kGranule);
  Answer("pointer.range_size", attribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, pair.at + kGranule));
  Answer("pointer.range_size_granules", size / kGranule);
  unsigned kind = 0;
  Answer("pointer.memory_type", attribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pair.at));
  Answer("pointer.memory_type_value", kind);
  int ordinal = -7;
  Answer("pointer.ordinal", attribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pair.at));
  Answer("pointer.ordinal_value", ordinal);
  CUcontext context = reinterpret_cast<CUcontext>(1);
  Answer("pointer.context", attribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, pair.at));
  Answer("pointer.context_is_null", context == nullptr);
  Answer("pointer.unmapped", attribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pair.at + 3 * kGranule));
  CUmemGenericAllocationHandle retained = 0;
  Answer("pointer.retain_handle", GMLAKE_CALL(cuMemRetainAllocationHandle)(&retained, (void*)(pair.at + 4096)));
  Answer("pointer.retained_is_same_handle", retained == pair.first);
}

void AskAboutIpc() {
  CUipcMemHandle ipc;
  Pair pair;
  Answer("ipc.of_a_mapping", GMLAKE_CALL(cuIpcGetMemHandle)(&ipc, pair.at));
  CUdeviceptr pooled = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemAllocAsync)(&pooled, kGranule, nullptr));
  Answer("ipc.of_pool_memory", GMLAKE_CALL(cuIpcGetMemHandle)(&ipc, pooled));
  CUdeviceptr plain = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemAlloc)(&plain, kGranule));
  Answer("ipc.of_plain_memory", GMLAKE_CALL(cuIpcGetMemHandle)(&ipc, plain));
  int descriptor = -1;
  Answer(
      "ipc.export_of_a_block_without_handle_types",
      GMLAKE_CALL(cuMemExportToShareableHandle)(&descriptor, pair.first, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
}

void AskAboutFreeing() {
  CUdeviceptr plain = 0;
  Answer("alloc.size_zero", GMLAKE_CALL(cuMemAlloc)(&plain, 0));
  GMLAKE_MUST(GMLAKE_CALL(cuMemAlloc)(&plain, 1000));
  Answer("free.inside_an_allocation", GMLAKE_CALL(cuMemFree)(plain + 256));
  Answer("free.once", GMLAKE_CALL(cuMemFree)(plain));
  Answer("free.twice", GMLAKE_CALL(cuMemFree)(plain));
  Answer("free.null", GMLAKE_CALL(cuMemFree)(0));
  Pair pair;
  Answer("free.of_a_mapping", GMLAKE_CALL(cuMemFree)(pair.at));
  CUdeviceptr pooled = 0;
  pooled = 99;
  Answer("pool.size_zero", GMLAKE_CALL(cuMemAllocAsync)(&pooled, 0, nullptr));
  Answer("pool.size_zero_address_is_null", pooled == 0);
  GMLAKE_MUST(GMLAKE_CALL(cuMemAllocAsync)(&pooled, 1000, nullptr));
  Answer("pool.free_inside", GMLAKE_CALL(cuMemFreeAsync)(pooled + 256, nullptr));
  Answer("pool.free_once", GMLAKE_CALL(cuMemFreeAsync)(pooled, nullptr));
  Answer("pool.free_twice", GMLAKE_CALL(cuMemFreeAsync)(pooled, nullptr));
  Answer("pool.free_of_a_mapping", GMLAKE_CALL(cuMemFreeAsync)(pair.at, nullptr));
  GMLAKE_MUST(GMLAKE_CALL(cuMemAllocAsync)(&pooled, 1000, nullptr));
  Answer("pool.synchronous_free", GMLAKE_CALL(cuMemFree)(pooled));
  GMLAKE_MUST(GMLAKE_CALL(cuMemAlloc)(&plain, 1000));
  Answer("pool.free_of_plain_memory", GMLAKE_CALL(cuMemFreeAsync)(plain, nullptr));
}

long long PoolValue(CUmemoryPool pool, CUmemPool_attribute attribute) {
  unsigned long long value = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemPoolGetAttribute)(pool, attribute, &value));
  return static_cast<long long>(value);
}

CUdeviceptr FromPool(CUmemoryPool pool, size_t size, CUstream stream = nullptr) {
  CUdeviceptr address = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuMemAllocFromPoolAsync)(&address, size, pool, stream));
  return address;
}

CUmemoryPool NewPool(size_t limit = 0) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  props.maxSize = limit;
  CUmemoryPool pool = nullptr;
  GMLAKE_MUST(GMLAKE_CALL(cuMemPoolCreate)(&pool, &props));
  return pool;
}

void FreeToPool(CUdeviceptr address, CUstream stream = nullptr) {
  GMLAKE_MUST(GMLAKE_CALL(cuMemFreeAsync)(address, stream));
}

void Synchronize() { GMLAKE_MUST(GMLAKE_CALL(cuStreamSynchronize)(nullptr)); }

void AskHowAPoolGrows() {
  const CUmemoryPool pool = NewPool();
  const auto reserved = [&] { return PoolValue(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT); };
  const auto used = [&] { return PoolValue(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT); };
  Answer("pool.reserved_when_new", reserved());
  const CUdeviceptr small = FromPool(pool, 1);
  Answer("pool.reserved_after_1_byte", reserved());
  Answer("pool.used_after_1_byte", used());
  const CUdeviceptr next = FromPool(pool, 1000);
  Answer("pool.used_after_1000_more", used());
  const CUdeviceptr large = FromPool(pool, 33 << 20);
  Answer("pool.reserved_after_33_MiB_more", reserved());
  Answer("pool.used_after_33_MiB_more", used());
  FreeToPool(large);
  Answer("pool.used_after_free_unsynchronized", used());
  Synchronize();
  Answer("pool.reserved_after_large_free_and_sync", reserved());
  FreeToPool(small);
  FreeToPool(next);
  Synchronize();
  Answer("pool.reserved_after_all_free_and_sync", reserved());
}

void AskHowAPoolHolds() {
  const CUmemoryPool pool = NewPool();
  unsigned long long threshold = ~0ull;
  GMLAKE_MUST(GMLAKE_CALL(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  std::vector<CUdeviceptr> pieces;
  for (int i = 0; i < 8; ++i) pieces.push_back(FromPool(pool, 32 << 20));
  Answer("pool.reserved_by_8_of_32_MiB", PoolValue(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
  for (int i = 0; i < 8; i += 2) FreeToPool(pieces[i]);
  Synchronize();
  Answer("pool.reserved_after_every_other_freed", PoolValue(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
  const CUdeviceptr big = FromPool(pool, 128 << 20);
  Answer("pool.reserved_after_128_MiB_into_4_holes_of_32", PoolValue(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
  FreeToPool(big);
  for (int i = 1; i < 8; i += 2) FreeToPool(pieces[i]);
  Synchronize();
  Answer("pool.reserved_after_all_free_with_threshold", PoolValue(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
  Answer("pool.trim", GMLAKE_CALL(cuMemPoolTrimTo)(pool, 0));
  Answer("pool.reserved_after_trim", PoolValue(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
}

// 256 MiB in pieces of one size, every other one freed: can the holes serve 128 MiB without more memory?
void AskAboutHolesOf(int mebibytes) {
  const CUmemoryPool pool = NewPool();
  unsigned long long threshold = ~0ull;
  GMLAKE_MUST(GMLAKE_CALL(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  const size_t size = static_cast<size_t>(mebibytes) << 20;
  std::vector<CUdeviceptr> pieces;
  for (size_t total = 0; total < (256 << 20); total += size) pieces.push_back(FromPool(pool, size));
  for (size_t i = 0; i < pieces.size(); i += 2) FreeToPool(pieces[i]);
  Synchronize();
  FromPool(pool, 128 << 20);
  const std::string question = "pool.reserved_after_128_MiB_into_holes_of_" + std::to_string(mebibytes) + "_MiB";
  Answer(question.c_str(), PoolValue(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
}

void AskAboutHoles() {
  for (const int mebibytes : {1, 2, 3, 4, 16, 32}) AskAboutHolesOf(mebibytes);
}

void AskHowAPoolAligns() {
  const CUmemoryPool pool = NewPool();
  const CUdeviceptr first = FromPool(pool, 1), second = FromPool(pool, 1), third = FromPool(pool, 513);
  const CUdeviceptr fourth = FromPool(pool, 1);
  Answer("pool.second_byte_is_behind_the_first_by", static_cast<long long>(second) - static_cast<long long>(first));
  Answer("pool.piece_behind_513_bytes_is_behind_by", static_cast<long long>(fourth) - static_cast<long long>(third));
}

void AskAboutAPoolWithALimit() {
  const CUmemoryPool pool = NewPool(64 << 20);
  CUdeviceptr address = 0;
  auto allocate = GMLAKE_CALL(cuMemAllocFromPoolAsync);
  Answer("pool.limit_64_MiB_ask_128", allocate(&address, 128 << 20, pool, nullptr));
  Answer("pool.limit_64_MiB_ask_48", allocate(&address, 48 << 20, pool, nullptr));
  Answer("pool.limit_64_MiB_ask_32_more", allocate(&address, 32 << 20, pool, nullptr));
}

void AskAboutEvents() {
  CUevent event = nullptr, untimed = nullptr;
  GMLAKE_MUST(GMLAKE_CALL(cuEventCreate)(&event, CU_EVENT_DEFAULT));
  GMLAKE_MUST(GMLAKE_CALL(cuEventCreate)(&untimed, CU_EVENT_DISABLE_TIMING));
  Answer("event.query_never_recorded", GMLAKE_CALL(cuEventQuery)(event));
  Answer("event.synchronize_never_recorded", GMLAKE_CALL(cuEventSynchronize)(event));
  Answer("event.wait_never_recorded", GMLAKE_CALL(cuStreamWaitEvent)(nullptr, event, 0));
  float milliseconds = 0;
  Answer("event.elapsed_never_recorded", GMLAKE_CALL(cuEventElapsedTime)(&milliseconds, event, event));
  GMLAKE_MUST(GMLAKE_CALL(cuEventRecord)(untimed, nullptr));
  Synchronize();
  Answer("event.elapsed_without_timing", GMLAKE_CALL(cuEventElapsedTime)(&milliseconds, untimed, untimed));
}

// Device 1 has context and memory; device 0 is current. Copies carry their own proof of what may touch what.
void AskAboutPeers() {
  int count = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuDeviceGetCount)(&count));
  if (count < 2) return;
  CUcontext zero, one;
  GMLAKE_MUST(GMLAKE_CALL(cuDevicePrimaryCtxRetain)(&zero, 0));
  GMLAKE_MUST(GMLAKE_CALL(cuDevicePrimaryCtxRetain)(&one, 1));
  int can = 0;
  GMLAKE_MUST(GMLAKE_CALL(cuDeviceCanAccessPeer)(&can, 0, 1));
  Answer("peer.can_access", can);
  Pair here;
  const auto block = MustCreate(kGranule, 1);
  const CUdeviceptr there = MustReserve(kGranule);
  GMLAKE_MUST(Map(there, kGranule, block));
  GMLAKE_MUST(SetAccess(there, kGranule, 1));
  unsigned long long flags = 99;
  const CUmemLocation device0 = AccessOf(0).location;
  GMLAKE_MUST(GMLAKE_CALL(cuMemGetAccess)(&flags, &device0, there));
  Answer("peer.access_flags_without_set_access", flags);
  Answer("peer.copy_peer_without_access", GMLAKE_CALL(cuMemcpyPeer)(there, one, here.at, zero, 4096));
  Answer("peer.copy_without_access", GMLAKE_CALL(cuMemcpyDtoD)(there, here.at, 4096));
  Answer("peer.copy_back_without_access", GMLAKE_CALL(cuMemcpyDtoD)(here.at, there, 4096));
  Answer("peer.host_copy_without_access", GMLAKE_CALL(cuMemcpyDtoH)(&flags, there, 8));
  Answer("peer.memset_without_access", GMLAKE_CALL(cuMemsetD8)(there, 1, 4096));
  Answer("peer.enable", GMLAKE_CALL(cuCtxEnablePeerAccess)(one, 0));
  Answer("peer.enable_twice", GMLAKE_CALL(cuCtxEnablePeerAccess)(one, 0));
  Answer("peer.copy_without_access_but_enabled", GMLAKE_CALL(cuMemcpyDtoD)(there, here.at, 4096));
  Answer("peer.memset_without_access_but_enabled", GMLAKE_CALL(cuMemsetD8)(there, 1, 4096));
  Answer("peer.synchronize", GMLAKE_CALL(cuCtxSynchronize)());
  Answer("peer.set_access", SetAccess(there, kGranule, 0));
  Answer("peer.memset_with_access", GMLAKE_CALL(cuMemsetD8)(there, 1, 4096));
  Answer("peer.copy_with_access", GMLAKE_CALL(cuMemcpyDtoD)(there, here.at, 4096));
  GMLAKE_MUST(GMLAKE_CALL(cuMemGetAccess)(&flags, &device0, there));
  Answer("peer.access_flags_with_set_access", flags);
}

// Each of these may leave the context broken, so each is a group of its own and runs in a process of its own.
void AskMemsetWithoutAccess() {
  const CUdeviceptr at = MustReserve(kGranule);
  GMLAKE_MUST(Map(at, kGranule, MustCreate(kGranule)));
  Answer("broken.memset_without_access", GMLAKE_CALL(cuMemsetD8)(at, 1, 4096));
  Answer("broken.memset_without_access_synchronize", GMLAKE_CALL(cuCtxSynchronize)());
}

void AskCopyWithoutAccess() {
  const CUdeviceptr at = MustReserve(kGranule);
  GMLAKE_MUST(Map(at, kGranule, MustCreate(kGranule)));
  int x = 1;
  Answer("broken.copy_without_access", GMLAKE_CALL(cuMemcpyHtoD)(at, &x, sizeof x));
  Answer("broken.copy_without_access_synchronize", GMLAKE_CALL(cuCtxSynchronize)());
}

void AskMemsetUnmapped() {
  Pair pair;
  Answer("broken.memset_unmapped", GMLAKE_CALL(cuMemsetD8)(pair.at + 3 * kGranule, 1, 4096));
  Answer("broken.memset_unmapped_synchronize", GMLAKE_CALL(cuCtxSynchronize)());
}

void AskMemsetPastTheEnd() {
  Pair pair;
  Answer("broken.memset_past_the_end", GMLAKE_CALL(cuMemsetD8)(pair.at + kGranule, 1, 2 * kGranule));
  Answer("broken.memset_past_the_end_synchronize", GMLAKE_CALL(cuCtxSynchronize)());
}

void AskMemsetOverTwoMappings() {
  Pair pair;
  Answer("two_mappings.memset", GMLAKE_CALL(cuMemsetD8)(pair.at, 7, 2 * kGranule));
  std::vector<unsigned char> back(2 * kGranule);
  Answer("two_mappings.copy", GMLAKE_CALL(cuMemcpyDtoH)(back.data(), pair.at, back.size()));
  Answer("two_mappings.bytes_right", back[kGranule - 1] == 7 && back[kGranule] == 7);
}

const struct {
  const char* name;
  void (*ask)();
} kGroups[] = {{"create", AskAboutCreation},
               {"reserve", AskAboutReservations},
               {"map", AskAboutMapping},
               {"access", AskAboutAccess},
               {"unmap", AskAboutUnmapping},
               {"memory", AskWhenMemoryReturns},
               {"pointer", AskAboutPointers},
               {"ipc", AskAboutIpc},
               {"free", AskAboutFreeing},
               {"pool_growth", AskHowAPoolGrows},
               {"pool_holds", AskHowAPoolHolds},
               {"pool_limit", AskAboutAPoolWithALimit},
               {"pool_holes", AskAboutHoles},
               {"pool_alignment", AskHowAPoolAligns},
               {"event", AskAboutEvents},
               {"two_mappings", AskMemsetOverTwoMappings},
               {"capture", AskAboutCapture},
               {"peer", AskAboutPeers},
               {"broken_memset", AskMemsetWithoutAccess},
               {"broken_copy", AskCopyWithoutAccess},
               {"broken_unmapped", AskMemsetUnmapped},
               {"broken_past_end", AskMemsetPastTheEnd}};

bool Wanted(const char* name, int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) return true;
  }
  return argc == 2;
}

int Main(int argc, char** argv) {
  if (argc < 2) return 2;
  Open(argv[1]);
  GMLAKE_MUST(GMLAKE_CALL(cuInit)(0));
  UseDevice(0);
  for (const auto& group : kGroups) {
    if (Wanted(group.name, argc, argv)) group.ask();
  }
  return 0;
}

}  // namespace
}  // namespace gmlake::conformance

int main(int argc, char** argv) { return gmlake::conformance::Main(argc, argv); }
