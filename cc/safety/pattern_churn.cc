#include "cc/safety/pattern_churn.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <utility>

#include "cc/driver/handles.h"

namespace gmlake {
namespace {

constexpr Bytes kSmallest = Bytes(256);
constexpr int kUsualSizes = 12;

// Maintains the allocator and reads its numbers until it goes out of scope.
class Housekeeping {
 public:
  explicit Housekeeping(Allocator* allocator)
      : thread_([this, allocator] {
          while (!done_) {
            allocator->Maintain();
            allocator->Stats();
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
          }
        }) {}
  ~Housekeeping() {
    done_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace

PatternChurn::PatternChurn(Driver* driver, PatternWriter* ink, PatternChurnOptions options)
    : driver_(driver),
      ink_(ink),
      options_(options),
      random_(options.seed),
      audit_(driver),
      allocator_(&audit_, AllocatorOptions{options.limit}) {
  for (int i = 0; i < kUsualSizes; ++i) usual_sizes_.push_back(LogUniform(MiB(1), options.limit / 10));
}

StatusOr<PatternChurnReport> PatternChurn::Run() {
  for (int i = 0; i < options_.streams; ++i) {
    GMLAKE_ASSIGN_OR_RETURN(const StreamHandle stream, ink_->NewStream());
    streams_.push_back(stream);
  }
  Status status;
  {
    Housekeeping housekeeping(&allocator_);
    while (status.ok() && !IsOver()) status = Step();
    if (status.ok()) status = Finish();
  }
  if (!status.ok()) return status;
  return report_;
}

double PatternChurn::Seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool PatternChurn::IsOver() const {
  return report_.operations >= options_.operations || !report_.broken.empty() || Seconds() > options_.seconds;
}

Bytes PatternChurn::LogUniform(Bytes from, Bytes to) {
  const double at = std::uniform_real_distribution<double>()(random_);
  return Bytes(static_cast<int64_t>(from.count() * std::pow(static_cast<double>(to.count()) / from.count(), at)));
}

// As programs ask: small ones, the same few again and again, and anything.
Bytes PatternChurn::RandomSize() {
  switch (Random(3)) {
    case 0: return LogUniform(kSmallest, MiB(1));
    case 1: return usual_sizes_[Random(usual_sizes_.size())];
    default: return LogUniform(MiB(1), options_.limit / 5);
  }
}

Status PatternChurn::Step() {
  ++report_.operations;
  if (Random(200) == 0) filling_ = 20 + 15 * Random(5);
  if (Random(64) == 0) return Interfere();
  return leases_.empty() || Random(100) < filling_ ? Get() : Drop(Random(leases_.size()));
}

// What happens beside requests and frees.
Status PatternChurn::Interfere() {
  switch (Random(7)) {
    case 0: allocator_.Trim(options_.limit / 100 * Random(100)); return OkStatus();
    case 1: allocator_.SetLimit(options_.limit / 100 * (50 + Random(50))).IgnoreError(); return OkStatus();
    case 2: return allocator_.SetLimit(options_.limit);
    case 3: return RetireStream(Random(streams_.size()));
    case 4: return options_.misuse ? Misuse() : OkStatus();
    case 5: return Replay();
    default: return Pause();
  }
}

Status PatternChurn::Get() {
  const size_t stream = Random(streams_.size());
  const Bytes size = RandomSize();
  const StatusOr<Address> address = allocator_.Allocate(size, streams_[stream]);
  if (address.ok()) {
    leases_.push_back({*address, size, next_owner_++, stream, GraphHandle()});
    report_.painted += size;
    return Paint(&leases_.back());
  }
  if (address.status().code() != StatusCode::kOutOfMemory) return address.status();
  ++report_.refused;
  return leases_.empty() ? OkStatus() : Drop(Random(leases_.size()));
}

Status PatternChurn::Paint(Lease* lease) {
  if (Random(16) == 0) return PaintByGraph(lease);
  return ink_->Paint(lease->address, lease->size, lease->owner, streams_[lease->stream]);
}

// While the stream is being captured, somebody asks for memory on it and gives it back.
Status PatternChurn::PaintByGraph(Lease* lease) {
  const StreamHandle stream = streams_[lease->stream];
  Status status = ink_->BeginCapture(stream);
  if (status.ok()) status = ink_->Paint(lease->address, lease->size, lease->owner, stream);
  if (!status.ok()) return status;
  const StatusOr<Address> meanwhile = allocator_.Allocate(RandomSize(), stream);
  if (meanwhile.ok()) allocator_.Free(*meanwhile, stream);
  const StatusOr<GraphHandle> graph = ink_->EndCapture(stream);
  if (!graph.ok()) return graph.status();
  lease->graph = *graph;
  ++report_.replays;
  return ink_->Replay(lease->graph, stream);
}

// A graph that paints a lease runs again, and must reach that lease and nothing else.
Status PatternChurn::Replay() {
  for (const Lease& lease : leases_) {
    if (lease.graph.value == nullptr) continue;
    GMLAKE_RETURN_IF_ERROR(ink_->Replay(lease.graph, streams_[lease.stream]));
    ++report_.replays;
  }
  return OkStatus();
}

// One lease in three is handed to another stream first.
Status PatternChurn::Drop(size_t index) {
  const Lease lease = leases_[index];
  leases_[index] = leases_.back();
  leases_.pop_back();
  const size_t stream = Random(3) == 0 ? Random(streams_.size()) : lease.stream;
  Status status = stream == lease.stream ? OkStatus() : Order(stream, lease.stream);
  if (status.ok()) status = CheckAndFree(lease, stream);
  if (!status.ok() || lease.graph.value == nullptr) return status;
  return ink_->DestroyGraph(lease.graph, streams_[lease.stream]);
}

Status PatternChurn::CheckAndFree(const Lease& lease, size_t stream) {
  GMLAKE_ASSIGN_OR_RETURN(const std::vector<Alias> aliases, audit_.AliasesOf(lease.address, lease.size));
  Bytes offset;
  for (const Alias& alias : aliases) {
    GMLAKE_RETURN_IF_ERROR(ink_->Check(alias.address, alias.size, offset, lease.owner, streams_[stream]));
    if (alias.mappings > 1) report_.checked_shared += alias.size;
    offset += alias.size;
  }
  report_.checked += offset;
  if (allocator_.Free(lease.address, streams_[stream])) return OkStatus();
  return Status(StatusCode::kInvalidArgument, "the allocator does not know a lease of its own");
}

Status PatternChurn::Misuse() {
  if (leases_.empty()) return OkStatus();
  const Lease& victim = leases_[Random(leases_.size())];
  return ink_->Paint(victim.address, victim.size, victim.owner + 1, streams_[victim.stream]);
}

Status PatternChurn::RetireStream(size_t stream) {
  const size_t heir = (stream + 1) % streams_.size();
  if (heir == stream) return OkStatus();
  Status status = Order(heir, stream);
  for (Lease& lease : leases_) {
    if (lease.stream == stream) lease.stream = heir;
  }
  if (status.ok()) status = allocator_.RetireStream(streams_[stream]);
  if (status.ok()) status = ink_->DestroyStream(streams_[stream]);
  if (!status.ok()) return status;
  GMLAKE_ASSIGN_OR_RETURN(const StreamHandle fresh, ink_->NewStream());
  streams_[stream] = fresh;
  ++report_.retired_streams;
  return OkStatus();
}

Status PatternChurn::Order(size_t later, size_t earlier) {
  const StatusOr<ScopedEvent> event = ScopedEvent::Record(driver_, streams_[earlier]);
  return event.ok() ? driver_->WaitOnStream(streams_[later], event->get()) : event.status();
}

// Waits for the device, and looks whether all is well so far.
Status PatternChurn::Pause() {
  GMLAKE_ASSIGN_OR_RETURN(const int64_t wrong, ink_->WrongWords());
  report_.wrong_words = wrong;
  report_.broken = allocator_.CheckInvariants();
  return OkStatus();
}

Status PatternChurn::Finish() {
  Status status;
  while (status.ok() && !leases_.empty()) status = Drop(leases_.size() - 1);
  if (status.ok()) status = Pause();
  report_.seconds = Seconds();
  report_.stats = allocator_.Stats();
  for (size_t i = 0; status.ok() && i < streams_.size(); ++i) {
    status = allocator_.RetireStream(streams_[i]);
    if (status.ok()) status = ink_->DestroyStream(streams_[i]);
  }
  return status;
}

std::string ToJson(const PatternChurnReport& report) {
  const auto way = [&](Way way) { return static_cast<long long>(report.stats.by_way[static_cast<int>(way)].count); };
  const auto gib = [](Bytes bytes) { return static_cast<double>(bytes.count()) / GiB(1).count(); };
  char text[1024];
  std::snprintf(text, sizeof(text),
                "{\"wrong_words\": %lld, \"invariants\": \"%s\", \"seconds\": %.1f, \"operations\": %lld, "
                "\"painted_gib\": %.1f, \"checked_through_another_address_gib\": %.1f, "
                "\"of_these_with_aliases_of_the_allocator_gib\": %.1f, \"refused\": %lld, "
                "\"retired_streams\": %lld, \"graph_replays\": %lld, "
                "\"small\": %lld, \"reuse\": %lld, \"split\": %lld, \"stitch\": %lld, \"grow\": %lld, "
                "\"unmaps\": %lld, \"releases\": %lld, \"stream_waits\": %lld, \"peak_reserved_gib\": %.2f}",
                static_cast<long long>(report.wrong_words), report.broken.c_str(), report.seconds,
                static_cast<long long>(report.operations), gib(report.painted), gib(report.checked),
                gib(report.checked_shared), static_cast<long long>(report.refused),
                static_cast<long long>(report.retired_streams), static_cast<long long>(report.replays),
                way(Way::kSmall), way(Way::kReuse), way(Way::kSplit), way(Way::kStitch), way(Way::kGrow),
                static_cast<long long>(report.stats.driver_calls.unmap),
                static_cast<long long>(report.stats.driver_calls.release),
                static_cast<long long>(report.stats.num_stream_waits), gib(report.stats.peak_bytes_reserved));
  return text;
}

}  // namespace gmlake
