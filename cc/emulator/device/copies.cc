#include "cc/emulator/device/copies.h"

#include <algorithm>
#include <cstring>

#include "cc/emulator/device/machine.h"

namespace gmlake::emulator {
namespace {

// Rows of a copy or fill with more than one dimension.
struct Rows {
  uint64_t begin;
  size_t pitch, slice;

  uint64_t At(size_t y, size_t z) const { return begin + y * pitch + z * slice; }
};

void AddSpan(Operation* operation, const End& end, size_t size, bool is_write) {
  if (end.device == End::kHost) return;
  operation->spans.push_back({end.address, size, end.device, is_write, /*is_copy=*/true});
}

void* Pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

template <typename T>
void Fill(uint64_t begin, T value, size_t count) {
  std::fill_n(static_cast<T*>(Pointer(begin)), count, value);
}

void FillRow(uint64_t begin, const CUDA_MEMSET_NODE_PARAMS& fill) {
  if (fill.elementSize == 1) Fill<uint8_t>(begin, fill.value, fill.width);
  if (fill.elementSize == 2) Fill<uint16_t>(begin, fill.value, fill.width);
  if (fill.elementSize == 4) Fill<uint32_t>(begin, fill.value, fill.width);
}

End EndOf(CUmemorytype type, CUdeviceptr on_device, const void* on_host, int device) {
  if (type == CU_MEMORYTYPE_HOST) return OnHost(on_host);
  return type == CU_MEMORYTYPE_DEVICE ? OnDevice(on_device, device) : OnEither(on_device, device);
}

// From the first byte of the first row to the last byte of the last.
size_t BytesBetween(const Rows& rows, size_t width, size_t height, size_t depth) {
  return rows.At(height - 1, depth - 1) + width - rows.begin;
}

}  // namespace

End OnDevice(uint64_t address, int device) { return {address, device}; }

End OnHost(const void* address) { return {reinterpret_cast<uint64_t>(address), End::kHost}; }

End OnEither(uint64_t address, int device) {
  std::lock_guard<std::mutex> lock(machine().mutex);
  const bool is_ours = machine().window.Contains(address) || machine().allocations.FindHolding(address) != nullptr;
  return {address, is_ours ? device : End::kHost};
}

Operation CopyOperation(const char* what, End to, End from, size_t size) {
  Operation copy;
  copy.what = what;
  copy.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  AddSpan(&copy, to, size, /*is_write=*/true);
  AddSpan(&copy, from, size, /*is_write=*/false);
  copy.run = [to, from, size] { std::memmove(Pointer(to.address), Pointer(from.address), size); };
  return copy;
}

Operation CopyOperation(const CUDA_MEMCPY3D& copy, int device) {
  const End to = EndOf(copy.dstMemoryType, copy.dstDevice, copy.dstHost, device);
  const End from = EndOf(copy.srcMemoryType, copy.srcDevice, copy.srcHost, device);
  const size_t width = copy.WidthInBytes;
  const size_t height = std::max<size_t>(copy.Height, 1), depth = std::max<size_t>(copy.Depth, 1);
  Rows target{0, copy.dstPitch, copy.dstPitch * copy.dstHeight};
  Rows source{0, copy.srcPitch, copy.srcPitch * copy.srcHeight};
  target.begin = to.address + copy.dstXInBytes + copy.dstY * target.pitch + copy.dstZ * target.slice;
  source.begin = from.address + copy.srcXInBytes + copy.srcY * source.pitch + copy.srcZ * source.slice;
  Operation operation;
  operation.what = "graph copy";
  operation.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  AddSpan(&operation, {target.begin, to.device}, BytesBetween(target, width, height, depth), /*is_write=*/true);
  AddSpan(&operation, {source.begin, from.device}, BytesBetween(source, width, height, depth), /*is_write=*/false);
  operation.run = [=] {
    for (size_t z = 0; z < depth; ++z) {
      for (size_t y = 0; y < height; ++y) std::memmove(Pointer(target.At(y, z)), Pointer(source.At(y, z)), width);
    }
  };
  return operation;
}

Operation FillOperation(const CUDA_MEMSET_NODE_PARAMS& fill, int device) {
  const size_t height = std::max<size_t>(fill.height, 1);
  const Rows rows{fill.dst, fill.pitch, 0};
  Operation operation;
  operation.what = "memset";
  operation.type = CU_GRAPH_NODE_TYPE_MEMSET;
  AddSpan(&operation, {fill.dst, device}, BytesBetween(rows, fill.width * fill.elementSize, height, 1),
          /*is_write=*/true);
  operation.run = [=] {
    for (size_t y = 0; y < height; ++y) FillRow(rows.At(y, 0), fill);
  };
  return operation;
}

CUresult CheckAtCall(const Operation& operation) {
  for (const Span& span : operation.spans) {
    if (!CheckSpan(span, operation.what.c_str(), Moment::kCall)) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace gmlake::emulator
