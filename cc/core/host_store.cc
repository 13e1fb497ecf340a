#include "cc/core/host_store.h"

#include <algorithm>

namespace gmlake {
namespace {

constexpr Bytes kLargestChunk = MiB(256);
constexpr Bytes kUnit = MiB(2);        // a huge page of the host
constexpr Bytes kLeftToHost = MiB(256);  // a machine whose memory is locked to the last page serves nobody
constexpr int64_t kMostThreads = 8;

}  // namespace

Status HostStore::Prepare(Bytes size) {
  Bytes missing = AlignUp(size, kUnit) - bytes();
  if (missing <= Bytes(0)) return OkStatus();
  const Bytes available = copier_->AvailableHost();
  if (missing + kLeftToHost > available) {
    return Status(StatusCode::kOutOfMemory, "the host has " + ToString(available) + " left, and " + ToString(missing) +
                                                " are needed to keep the device's contents");
  }
  const int64_t before = count();
  for (; missing > Bytes(0); missing -= chunks_.back().size) {
    Chunk chunk;
    chunk.size = std::min(missing, kLargestChunk);
    chunks_.push_back(chunk);
  }
  CountBytes();
  StartThreads(count() - before);
  return OkStatus();
}

void HostStore::StartThreads(int64_t missing) {
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const int64_t threads = std::min({missing, cores, kMostThreads});
  for (int64_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Make(); });
}

void HostStore::Make() {
  for (int64_t chunk = Claim(); chunk >= 0; chunk = Claim()) {
    StatusOr<char*> memory = copier_->AllocateHost(chunks_[chunk].size);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (memory.ok()) chunks_[chunk].memory = *memory;
    chunks_[chunk].status = memory.status();
    chunks_[chunk].done = true;
    made_.notify_all();
  }
}

int64_t HostStore::Claim() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return next_ < count() ? next_++ : -1;
}

StatusOr<char*> HostStore::Await(int64_t chunk) {
  std::unique_lock<std::mutex> lock(mutex_);
  made_.wait(lock, [&] { return chunks_[chunk].done; });
  if (!chunks_[chunk].status.ok()) return chunks_[chunk].status;
  return chunks_[chunk].memory;
}

void HostStore::Settle() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  const auto failed = [](const Chunk& chunk) { return chunk.memory == nullptr; };
  chunks_.erase(std::remove_if(chunks_.begin(), chunks_.end(), failed), chunks_.end());
  next_ = count();
  CountBytes();
}

void HostStore::Clear() {
  Settle();
  for (const Chunk& chunk : chunks_) copier_->FreeHost(chunk.memory, chunk.size);
  chunks_.clear();
  next_ = 0;
  CountBytes();
}

void HostStore::CountBytes() {
  Bytes sum;
  for (const Chunk& chunk : chunks_) sum += chunk.size;
  bytes_.store(sum.count());
}

}  // namespace gmlake
