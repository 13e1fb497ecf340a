#include "cc/core/sleep/host_store.h"

#include <algorithm>

namespace gmlake {
namespace {

constexpr Bytes kLargestChunk = MiB(64);  // what the first copy waits for, and what cannot be called off any more
constexpr Bytes kUnit = MiB(2);           // a huge page of the host
constexpr Bytes kLeftToHost = MiB(256);   // a machine whose memory is locked to the last page serves nobody
constexpr int64_t kMostThreads = 16;
constexpr Bytes kMostBytes(int64_t{1} << 46);  // more than any host has, and small enough to add up

}  // namespace

Status HostStore::Prepare(Bytes size) {
  if (size > kMostBytes) return Status(StatusCode::kOutOfMemory, "no host has " + ToString(size));
  GMLAKE_RETURN_IF_ERROR(copier_->Open());
  if (IsQuiet()) Settle();
  const MutexLock lock(&mutex_);
  const Bytes made = SizeIn(State::kMade);
  const Bytes wanted = SizeIn(State::kWanted) + SizeIn(State::kBegun) + SizeIn(State::kFailed);
  const Bytes more = std::max(AlignUp(std::max(size, Bytes(0)), kUnit) - made - wanted, Bytes(0));
  GMLAKE_RETURN_IF_ERROR(CheckHost(wanted + more));
  ++requests_;
  TryFailedAgain();
  Append(more);
  StartThreads();
  return OkStatus();
}

bool HostStore::IsQuiet() {
  const MutexLock lock(&mutex_);
  return working_ == 0;
}

Status HostStore::CheckHost(Bytes wanted) const {
  if (wanted <= Bytes(0)) return OkStatus();
  const Bytes available = copier_->AvailableHost();
  if (wanted + kLeftToHost <= available) return OkStatus();
  return Status(StatusCode::kOutOfMemory, "the host has " + ToString(available) + " left, and " + ToString(wanted) +
                                              " are needed to keep the device's contents");
}

void HostStore::TryFailedAgain() {
  for (Chunk& chunk : chunks_) {
    if (chunk.state == State::kFailed) chunk.state = State::kWanted;
  }
  first_wanted_ = 0;
}

void HostStore::Append(Bytes size) {
  for (; size > Bytes(0); size -= chunks_.back().size) {
    Chunk chunk;
    chunk.size = std::min(size, kLargestChunk);
    chunks_.push_back(chunk);
  }
}

void HostStore::StartThreads() {
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const int64_t chunks = AlignUp(SizeIn(State::kWanted), kLargestChunk).count() / kLargestChunk.count();
  for (const int64_t most = std::min({chunks, cores, kMostThreads}); working_ < most; ++working_) {
    threads_.emplace_back([this] { Make(); });
  }
}

void HostStore::Make() {
  const MutexLock lock(&mutex_);
  for (Chunk* chunk = Begin(); chunk != nullptr; chunk = Begin()) {
    End(chunk, MakeUnlocked(*chunk));
  }
  --working_;
}

StatusOr<char*> HostStore::MakeUnlocked(const Chunk& chunk) {
  const MutexUnlock unlocked(&mutex_);
  return copier_->AllocateHost(chunk.size);
}

HostStore::Chunk* HostStore::Begin() {
  while (first_wanted_ < chunks_.size() && chunks_[first_wanted_].state != State::kWanted) ++first_wanted_;
  if (first_wanted_ == chunks_.size()) return nullptr;
  Chunk* const chunk = &chunks_[first_wanted_];
  chunk->state = State::kBegun;
  chunk->begun_for = requests_;
  return chunk;
}

void HostStore::End(Chunk* chunk, const StatusOr<char*>& memory) {
  const bool is_stale = chunk->begun_for != requests_;  // whoever asked since has not had a try
  chunk->state = memory.ok() ? State::kMade : is_stale ? State::kWanted : State::kFailed;
  chunk->memory = memory.ok() ? *memory : nullptr;
  chunk->status = memory.status();
  if (chunk->state == State::kWanted) first_wanted_ = 0;
  bytes_.store(SizeIn(State::kMade).count());
  made_.notify_all();
}

StatusOr<char*> HostStore::Await(int64_t index) {
  const MutexLock lock(&mutex_);
  const Chunk& chunk = chunks_[static_cast<size_t>(index)];
  while (chunk.state != State::kMade && chunk.state != State::kFailed) made_.wait(mutex_);
  if (chunk.state == State::kFailed) return chunk.status;
  return chunk.memory;
}

StatusOr<Bytes> HostStore::missing() {
  const MutexLock lock(&mutex_);
  for (const Chunk& chunk : chunks_) {
    if (chunk.state == State::kFailed) return chunk.status;
  }
  return SizeIn(State::kWanted) + SizeIn(State::kBegun);
}

void HostStore::Settle() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  const MutexLock lock(&mutex_);
  const auto is_missing = [](const Chunk& chunk) { return chunk.state != State::kMade; };
  chunks_.erase(std::remove_if(chunks_.begin(), chunks_.end(), is_missing), chunks_.end());
  first_wanted_ = chunks_.size();
}

void HostStore::CallOff() {
  const MutexLock lock(&mutex_);
  for (Chunk& chunk : chunks_) {
    chunk.begun_for = requests_;  // what is on its way is not begun again
    if (chunk.state != State::kWanted) continue;
    chunk.state = State::kFailed;
    chunk.status = Status(StatusCode::kFailedPrecondition, "the host's memory was asked back while it was being made");
  }
}

void HostStore::Clear() {
  CallOff();
  Settle();
  const MutexLock lock(&mutex_);
  for (const Chunk& chunk : chunks_) copier_->FreeHost(chunk.memory, chunk.size);
  chunks_.clear();
  first_wanted_ = 0;
  bytes_.store(0);
}

Bytes HostStore::SizeIn(State state) const {
  Bytes size;
  for (const Chunk& chunk : chunks_) {
    if (chunk.state == state) size += chunk.size;
  }
  return size;
}

}  // namespace gmlake
