#include "cc/emulator/streams/work_queue.h"

#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>

#include "cc/emulator/calls/settings.h"

namespace gmlake::emulator {
namespace {

uint64_t NextId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

WorkQueue::WorkQueue() : id_(NextId()) {}

void WorkQueue::Start() {
  if (!settings().async) return;
  std::thread([queue = shared_from_this()] { queue->Run(); }).detach();
}

Clock WorkQueue::Push(Operation operation, std::vector<Place> places) {
  if (!settings().async) {
    if (settings().delay_us > 0) usleep(settings().delay_us);
    Execute(operation);
    return {};
  }
  std::lock_guard<std::mutex> lock(mutex_);
  work_.push_back({std::make_shared<const Operation>(std::move(operation)), std::move(places), ++pushed_});
  changed_.notify_all();
  return clock_;
}

Clock WorkQueue::Now() {
  std::lock_guard<std::mutex> lock(mutex_);
  Clock now = clock_;
  now.Advance(id_, pushed_);
  return now;
}

void WorkQueue::Follow(const Clock& clock) {
  std::lock_guard<std::mutex> lock(mutex_);
  clock_.Merge(clock);
}

std::shared_ptr<const Operation> WorkQueue::WaitForWork() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return is_closed_ || !work_.empty(); });
  return work_.empty() ? nullptr : work_.front().operation;
}

void WorkQueue::Run() {
  while (std::shared_ptr<const Operation> next = WaitForWork()) {
    if (settings().delay_us > 0) usleep(settings().delay_us);
    Execute(*next);
    std::lock_guard<std::mutex> lock(mutex_);
    work_.pop_front();
    ++completed_;
    changed_.notify_all();
  }
}

void WorkQueue::Drain() {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t target = pushed_;
  changed_.wait(lock, [&] { return completed_ >= target; });
}

bool WorkQueue::IsIdle() {
  std::lock_guard<std::mutex> lock(mutex_);
  return completed_ == pushed_;
}

void WorkQueue::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

std::string WorkQueue::FindPending(uint64_t begin, size_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Work& work : work_) {
    if (work.operation->Touches(begin, size)) return work.operation->what;
  }
  return "";
}

std::string WorkQueue::FindUnordered(const std::vector<Place>& places, const Clock& clock) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Work& work : work_) {
    if (!clock.IsAfter(id_, work.number) && Collide(places, work.places)) return work.operation->what;
  }
  return "";
}

}  // namespace gmlake::emulator
