#include "cc/safety/program.h"

#include <algorithm>
#include <map>

namespace gmlake {
namespace {

constexpr Bytes kGranule = MiB(2);
constexpr Bytes kDevice = GiB(1);
constexpr size_t kMostLeases = 48;
constexpr size_t kHistory = 8;
constexpr ReclaimBudget kBudget{/*mappings=*/40, /*bytes=*/MiB(64)};
constexpr int64_t kMostTries = 3;  // frees that wait for a stream settle within so many rounds
// As 16 TiB are for a device of 141 GB, and less.
constexpr RangeSize kRanges{/*per_total=*/4, /*least=*/GiB(1), /*budget=*/GiB(24)};
constexpr RangeSize kSmallRanges{/*per_total=*/0, /*least=*/MiB(8), /*budget=*/GiB(1)};
constexpr Bytes kAddresses = GiB(116);

AllocatorOptions OptionsOf(Bytes limit, bool crowded, HostCopier* copier) {
  AllocatorOptions options{limit, kBudget};
  options.copier = copier;
  options.range_size = crowded ? kSmallRanges : kRanges;
  options.thresholds.few_ranges = crowded ? 0 : 3;  // there are never as many as usually are looked through in turn
  return options;
}

// Is every mapping one of a block that is listed, inside of a range that is listed?
bool MappingsFit(const Snapshot& snapshot) {
  std::map<int32_t, int64_t> blocks;
  std::map<int32_t, RangeRow> ranges;
  for (const RangeRow& range : snapshot.ranges) ranges[range.id] = range;
  for (const BlockRow& block : snapshot.blocks) blocks[block.id] = block.size;
  return std::all_of(snapshot.mappings.begin(), snapshot.mappings.end(), [&](const MappingRow& mapping) {
    const auto range = ranges.find(mapping.range);
    const auto block = blocks.find(mapping.block);
    if (range == ranges.end() || block == blocks.end()) return false;
    const RangeRow& row = range->second;
    return row.address <= mapping.address && mapping.address + block->second <= row.address + row.size;
  });
}

// Every lease and block is there, and every mapping fits.
bool AddsUp(const Snapshot& snapshot) {
  Bytes leased(0), held(0);
  for (const LeaseRow& lease : snapshot.leases) leased += Bytes(lease.size);
  for (const BlockRow& block : snapshot.blocks) held += Bytes(block.size);
  return MappingsFit(snapshot) && leased == snapshot.stats.bytes_in_use + snapshot.stats.bytes_pending &&
         held == snapshot.stats.bytes_reserved;
}

}  // namespace

std::vector<Operation> Decode(const uint8_t* data, size_t size) {
  std::vector<Operation> operations;
  for (size_t at = 0; at + 4 <= size; at += 4) {
    operations.push_back({data[at], data[at + 1], data[at + 2], data[at + 3]});
  }
  return operations;
}

Program::Program(Bytes limit, bool crowded)
    : limit_(limit),
      driver_(kDevice),
      allocator_(std::make_unique<Allocator>(&driver_, OptionsOf(limit, crowded, &stamps_))),
      shadow_(&driver_, allocator_.get()) {
  driver_.SetAddresses(kAddresses);
  if (crowded) driver_.ReuseNames();
  // The first stream to ask is the owner stream; programs can rely on its being Stream(0).
  Request(Bytes(1), home());
  Free({});
  driver_.OnWait([this] { Interrupt(); });
  stamps_.OnCopy([this] { Interrupt(); });
}

void Program::ComeInNoMore() {
  driver_.OnWait(nullptr);
  stamps_.OnCopy(nullptr);
}

std::string Program::Step(Operation operation) {
  Dispatch(operation);
  return Check();
}

std::string Program::Check() { return problem_.empty() ? shadow_.Check() : problem_; }

// Of 64 kinds, 24 allocate, 20 free and 8 use, so that a random program keeps memory moving.
void Program::Dispatch(Operation operation) {
  current_ = operation;
  interrupted_ = false;
  if (operation.c % 32 == 9) allocator_->ResetPeaks();
  using Action = void (Program::*)(Operation);
  static constexpr Action kActions[] = {&Program::FreeForeign,  &Program::QueryOrSleep,      &Program::AllocateAbsurd,
                                        &Program::Trim,         &Program::ChangeLimit,       &Program::Capture,
                                        &Program::FailCalls,    &Program::TakeForeignMemory, &Program::FinishWork,
                                        &Program::RetireStream, &Program::Maintain,          &Program::FreeHalf};
  const int kind = operation.kind % 64;
  if (kind < 24) return Allocate(operation);
  if (kind < 44) return Free(operation);
  if (kind < 52) return Use(operation);
  (this->*kActions[kind - 52])(operation);
}

// Half of the requests ask for a size that was asked for before, as a training step does.
Bytes Program::SizeOf(Operation operation) {
  if (operation.a % 2 == 1 && !history_.empty()) return history_[operation.b % history_.size()];
  const Bytes size = FreshSizeOf(operation);
  if (history_.size() < kHistory) history_.push_back(size);
  history_[operation.b % history_.size()] = size;
  return size;
}

Bytes Program::FreshSizeOf(Operation operation) const {
  const int64_t a = operation.a / 16;
  const int64_t b = operation.b;
  switch (operation.a / 2 % 8) {
    case 0: return Bytes(a * b * 16);
    case 1: return KiB(128) + Bytes(b * 1000);
    case 2: return MiB(1 + a % 4);
    case 3: return kGranule * (1 + a % 4);
    case 4: return MiB(1 + a) + Bytes(b);
    case 5: return AlignDown(limit_ / 32, Bytes(256)) * (1 + a);
    default: return kGranule * (1 + a % 12);
  }
}

void Program::Allocate(Operation operation) {
  if (allocator_->IsAsleep() && operation.b % 2 == 0) WakeUp();  // while there is something left that slept
  if (shadow_.leases().size() >= kMostLeases) return FreeHalf(operation);
  Request(SizeOf(operation), Stream(operation.c % 8 < 5 ? 0 : operation.c % 8));
}

// Numbers that no device has, wherever one is taken: refused, or without effect.
void Program::GoToExtremes(Operation operation) {
  const Bytes size(operation.b % 2 == 0 ? INT64_MAX - operation.b : INT64_MIN + operation.b);
  const bool is_negative = size < Bytes(0);
  const Before before = Now();
  switch (operation.a % 3) {
    case 0: Expect(!allocator_->SetLimit(size).ok(), "an absurd limit was set"); break;
    case 1: Expect(is_negative || !allocator_->PrepareSleep(size).ok(), "absurd host memory was found"); break;
    default: Expect(is_negative || allocator_->Trim(size) == Bytes(0), "a trim to more than there is gave memory back");
  }
  for (const Shadow::Lease& lease : shadow_.leases()) {
    Expect(is_negative || !allocator_->ReadAsleep(lease.address, size, nullptr), "an absurd size was read");
  }
  Expect(allocator_->Stats().bytes_limit == before.stats.bytes_limit, "an absurd number changed the limit");
}

// Sizes that no device has, up to the largest number: refused, nothing else.
void Program::AllocateAbsurd(Operation operation) {
  if (operation.c % 4 == 3) return GoToExtremes(operation);
  const int64_t most = INT64_MAX - operation.a;
  Request(Bytes(operation.b % 2 == 0 ? most : most >> (operation.b % 24)), Stream(0));
}

void Program::Request(Bytes size, StreamHandle stream) {
  const Before before = Now();
  const StatusOr<Address> address = allocator_->Allocate(size, stream);
  if (!interrupted_ && (HomeIsCaptured() || Capturing(stream))) {
    Expect(before.mapping_changes == driver_.num_mapping_changes(), "a mapping changed during capture");
  }
  if (!address.ok()) {
    shadow_.Refused();
    return ExpectRefusalLeftNoTrace(before, size, stream);
  }
  shadow_.Begin(*address, size, stream);
  Launch(shadow_.leases().size() - 1, stream);
}

void Program::ExpectRefusalLeftNoTrace(const Before& before, Bytes size, StreamHandle stream) {
  if (interrupted_) return;
  const AllocatorStats after = allocator_->Stats();
  const Bytes doubt = after.bytes_quarantined - before.stats.bytes_quarantined;
  Expect(after.bytes_in_use == before.stats.bytes_in_use, "a refused request changed bytes_in_use");
  Expect(after.peak_bytes_in_use == before.stats.peak_bytes_in_use, "a refused request moved a peak");
  Expect(after.bytes_reserved <= before.stats.bytes_reserved + doubt, "a refused request kept memory");
  Expect(after.bytes_limit == before.stats.bytes_limit, "a refused request changed the limit");
  const int64_t failed = driver_.num_failed() - before.failed_calls;
  Expect(failed > 0 || doubt == Bytes(0), "memory went into quarantine without a driver error");
  Expect(failed > 0 || driver_.reserved_addresses() <= before.addresses, "a refused request kept addresses");
  Expect(!MustSucceed(before, size, stream), "a request below largest_servable was refused");
}

// Nothing stood in the way, and the allocator itself had said that so much can be had.
bool Program::MustSucceed(const Before& before, Bytes size, StreamHandle stream) const {
  if (foreign_memory_ || HomeIsCaptured() || Capturing(stream)) return false;
  if (!home_is_known_ && AnyCapturing()) return false;
  if (driver_.num_failed() > before.failed_calls) return false;
  return size < limit_ && AlignUp(size, kGranule) + kGranule <= before.stats.largest_servable;
}

void Program::Launch(size_t index, StreamHandle stream) {
  if (Capturing(stream)) return;  // recorded, not run
  const Shadow::Lease& lease = shadow_[index];
  driver_.Launch(stream, lease.address, std::max(lease.size, Bytes(1)), lease.owner);
}

// Could the framework put `stream` behind every other stream that used the lease?
bool Program::CanOrder(const Shadow::Lease& lease, StreamHandle stream) const {
  return std::all_of(lease.streams.begin(), lease.streams.end(),
                     [&](StreamHandle other) { return other == stream || !(Capturing(other) || Capturing(stream)); });
}

void Program::Use(Operation operation) {
  if (shadow_.leases().empty() || allocator_->IsAsleep()) return;
  const size_t index = operation.a % shadow_.leases().size();
  Shadow::Lease& lease = shadow_[index];
  const StreamHandle stream = Stream(operation.c);
  if (!CanOrder(lease, stream)) return;
  for (StreamHandle other : lease.streams) {
    if (other != stream) driver_.Order(stream, other);
  }
  if (std::find(lease.streams.begin(), lease.streams.end(), stream) == lease.streams.end()) {
    lease.streams.push_back(stream);
  }
  Launch(index, stream);
}

void Program::Free(Operation operation) {
  if (shadow_.leases().empty()) return;
  const size_t index = (operation.a | operation.b << 8) % shadow_.leases().size();
  const Shadow::Lease& lease = shadow_[index];
  const StreamHandle stream = operation.c % 4 == 0 ? Stream(operation.c / 4) : lease.streams.front();
  if (!CanOrder(lease, stream)) return;
  for (StreamHandle other : lease.streams) {
    if (other != stream) driver_.Order(stream, other);
  }
  const int64_t changes = driver_.num_mapping_changes();
  Expect(allocator_->Free(lease.address, stream), "a live lease could not be freed");
  Expect(changes == driver_.num_mapping_changes(), "a free changed a mapping");
  shadow_.End(index);
}

// Every other lease goes, as when a framework frees what a step used up.
void Program::FreeHalf(Operation operation) {
  for (int i = static_cast<int>(shadow_.leases().size()) - 1; i >= 0; i -= 2) {
    Free({operation.kind, static_cast<uint8_t>(i), 0, operation.c});
  }
}

// Addresses that are no lease: nowhere, inside a lease, freed before.
void Program::FreeForeign(Operation operation) {
  Address address(operation.a * 4096);
  if (!shadow_.leases().empty() && operation.b % 2 == 0) {
    const Shadow::Lease& lease = shadow_[operation.a % shadow_.leases().size()];
    if (lease.size > Bytes(256)) address = lease.address + Bytes(256);
  }
  Expect(!allocator_->Owns(address), "an address that is no lease is owned");
  Expect(!allocator_->Free(address, Stream(0)), "an address that is no lease was freed");
}

void Program::Query(Operation operation) {
  for (const Shadow::Lease& lease : shadow_.leases()) {
    Expect(allocator_->Owns(lease.address), "a live lease is not owned");
    Expect(allocator_->RequestedSize(lease.address) == lease.size, "a live lease has another size");
  }
  if (operation.a % 2 == 0) allocator_->ResetPeaks();
  if (operation.a % 4 == 1) Expect(AddsUp(allocator_->TakeSnapshot()), "a snapshot does not add up");
}

void Program::QueryOrSleep(Operation operation) {
  Query(operation);
  SleepOrWake(operation);
}

void Program::Trim(Operation operation) {
  const Before before = Now();
  const Bytes target = operation.a % 2 == 0 ? Bytes(0) : MiB(operation.b);
  const Bytes given = allocator_->Trim(target);
  const Bytes now = allocator_->Stats().bytes_reserved;
  Expect(interrupted_ || given == before.stats.bytes_reserved - now, "trim miscounts what it gave back");
  if (HomeIsCaptured()) {
    Expect(before.mapping_changes == driver_.num_mapping_changes(), "a mapping changed during capture");
  }
}

void Program::ChangeLimit(Operation operation) {
  const Before before = Now();
  const Bytes limit = limit_ / 4 + (limit_ - limit_ / 4) / 255 * operation.a;
  const Status status = allocator_->SetLimit(limit);
  const Bytes now = allocator_->Stats().bytes_limit;
  Expect(now == (status.ok() ? limit : before.stats.bytes_limit), "the limit is not what it was set to");
}

void Program::Maintain(Operation operation) {
  const Before before = Now();
  if (operation.a % 8 == 3) allocator_->Preallocate(MiB(operation.b)).IgnoreError();
  allocator_->Maintain();
  if (HomeIsCaptured()) {
    Expect(before.mapping_changes == driver_.num_mapping_changes(), "a mapping changed during capture");
  }
}

void Program::Capture(Operation operation) {
  const StreamHandle stream = Stream(operation.a);
  bool& capturing = capturing_[IndexOf(stream)];
  capturing = !capturing && operation.b % 4 == 0;
  driver_.SetCapturing(stream, capturing);
}

void Program::FailCalls(Operation operation) {
  static constexpr StatusCode kCodes[] = {StatusCode::kDriverError, StatusCode::kOutOfMemory, StatusCode::kNotReady,
                                          StatusCode::kDriverError};
  driver_.FailCalls(operation.a % 24, operation.b % 4 == 0 ? 1 + operation.b / 16 : 1, kCodes[operation.c % 4]);
}

void Program::TakeForeignMemory(Operation operation) {
  foreign_memory_ = operation.a % 2 == 0;
  const Bytes room = kGranule * (operation.b % 16);
  driver_.SetForeignMemory(foreign_memory_ ? kDevice - driver_.memory_in_use() - room : Bytes(0));
}

void Program::FinishWork(Operation operation) {
  if (operation.a % 8 == 0) return driver_.FinishAll();
  driver_.FinishSome(Stream(operation.b), operation.a / 8);
}

// What another thread, or a callback of the device, does while the allocator waits for the device.
void Program::Interrupt() {
  if (interrupted_) return;
  interrupted_ = true;
  const Operation operation = current_;
  switch (operation.c % 4) {
    case 0: return Free({0, operation.b, 0, 1});
    case 1: return MayRequest() ? Request(kGranule * (1 + operation.b % 4), Stream(operation.b)) : Query(operation);
    case 2: return FreeHalf({0, 0, 0, 1});
    default: Query(operation);
  }
}

// At any moment: with work queued, in the middle of a capture, or while the device sleeps. Now and then all streams go.
void Program::RetireStream(Operation operation) {
  if (operation.b % 4 != 0) return FinishWork(operation);
  const int chosen = operation.a % kStreams;
  const bool all = operation.a % 4 == 3;
  for (int index = 0; index < kStreams; ++index) {
    if (all || index == chosen) Retire(index);
  }
  if (all || chosen == 0) MakeHome(all);
}

// The first to ask is the owner stream, unless a pending free, or what comes in during a wait, is earlier. Without
// `all` streams gone, it is not known before, either, if it was not.
void Program::MakeHome(bool all) {
  const AllocatorStats before = allocator_->Stats();
  Request(Bytes(1), home());
  const bool was_first = !interrupted_ && before.bytes_pending == Bytes(0);
  const bool was_served = allocator_->Stats().num_allocs > before.num_allocs;
  home_is_known_ = (all || home_is_known_) && was_first && was_served;
}

// Another stream takes its place, and the framework lets that one wait for the work of the old.
void Program::Retire(int index) {
  const StreamHandle stream = Stream(index);
  const int64_t failed = driver_.num_failed();
  const Status retired = allocator_->RetireStream(stream);
  Expect(retired.ok() || Capturing(stream) || driver_.num_failed() > failed, "a stream could not be retired");
  driver_.DestroyStream(stream);
  capturing_[index] = false;
  ++generation_[index];
  driver_.Order(Stream(index), stream);
  for (Shadow::Lease& lease : shadow_.leases()) {
    std::replace(lease.streams.begin(), lease.streams.end(), stream, Stream(index));
  }
}

Program::Before Program::Now() const {
  return {allocator_->Stats(), driver_.num_failed(), driver_.num_mapping_changes(), driver_.reserved_addresses()};
}

void Program::Expect(bool holds, const char* problem) {
  if (!holds && problem_.empty()) problem_ = problem;
}

void Program::FreeAll() {
  driver_.StopFailing();
  driver_.SetForeignMemory(Bytes(0));
  foreign_memory_ = false;
  if (allocator_->IsAsleep()) {
    Expect(allocator_->SetLimit(limit_).ok(), "the limit of a sleeping device cannot be raised");
    WakeUp();
    Expect(!allocator_->IsAsleep(), "a device does not wake up though nothing stands in the way");
  }
  for (int i = 0; i < kStreams; ++i) Capture({0, static_cast<uint8_t>(i), 1, 0});
  while (!shadow_.leases().empty()) Free({0, 0, 0, 1});
  for (int64_t tries = 0; tries < kMostTries; ++tries) allocator_->Maintain();
  allocator_->Trim(limit_);  // waits for the device if a stream went that left no event
}

std::string Program::Finish() {
  ComeInNoMore();
  FreeAll();
  ExpectAllCanBeHadAgain();
  allocator_->Trim(Bytes(0));
  const AllocatorStats last = allocator_->Stats();
  // A block with a mapping that would not come off can be used, but not given back.
  Expect(last.bytes_reserved == last.bytes_quarantined || driver_.num_failed_unmaps() > 0,
         "a full trim leaves more than the quarantine");
  if (problem_.empty()) problem_ = shadow_.Check();
  allocator_.reset();
  ExpectNothingLeft(last);
  return problem_;
}

void Program::ExpectAllCanBeHadAgain() {
  const AllocatorStats idle = allocator_->Stats();
  Expect(idle.bytes_in_use + idle.bytes_pending == Bytes(0), "bytes are in use after everything was freed");
  const Bytes all = AlignDown(idle.bytes_limit - idle.bytes_quarantined, kGranule);
  if (all <= Bytes(0)) return;
  Request(all, home());
  Expect(shadow_.leases().size() == 1, "all that the limit allows cannot be had after everything was freed");
  FreeAll();
}

// The allocator is gone; `last` is what it said before.
void Program::ExpectNothingLeft(const AllocatorStats& last) {
  const bool stuck = last.bytes_quarantined > Bytes(0) || driver_.num_failed_unmaps() > 0;
  Expect(driver_.memory_in_use() <= last.bytes_reserved, "memory leaked");
  Expect(stuck || driver_.num_mappings() == 0, "mappings leaked");
  Expect(driver_.num_failed() > 0 || driver_.num_reservations() == 0, "addresses leaked");
  Expect(driver_.num_events() == 0, "events leaked");
  Expect(driver_.violations().empty(), "the driver saw a broken rule at the end");
}

std::string Program::Abandon() {
  ComeInNoMore();
  driver_.StopFailing();
  allocator_.reset();
  if (driver_.num_events() > 0) return "events leaked";
  return driver_.violations().empty() ? "" : "at an abrupt end the driver saw: " + driver_.violations().front();
}

}  // namespace gmlake
