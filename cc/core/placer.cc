#include "cc/core/placer.h"

#include <algorithm>

namespace gmlake {
namespace {

Status OutOfMemory(Bytes size) {
  return Status(StatusCode::kOutOfMemory, "the limit leaves no room for " + ToString(size));
}

bool IsRefusedByLimit(const StatusOr<Placement>& placement, Bytes size) {
  return !placement.ok() && placement.status().message() == OutOfMemory(size).message();
}

bool IsOutOfMemory(const StatusOr<Placement>& placement) {
  return !placement.ok() && placement.status().code() == StatusCode::kOutOfMemory;
}

}  // namespace

StatusOr<Placement> Placer::Place(const Request& request) {
  const Candidate candidate = FindCandidate(request);
  StatusOr<Placement> placement = PlaceBy(request, candidate);
  if (!candidate.avoids_seams || !IsOutOfMemory(placement) || ShouldWait(request)) return placement;
  return PlaceBy(request, FindCandidateIgnoringSeams(request));
}

StatusOr<Placement> Placer::PlaceBy(const Request& request, const Candidate& candidate) {
  if (candidate.may_split() && !candidate.tail)
    return Split(candidate.free, candidate.fit.offset, request.size, Way::kSplit);
  Placement placement;
  if (!request.at_home && Reuse(request, candidate, &placement)) return placement;
  if (candidate.may_split()) return Remember(request, Split(candidate.free, Bytes(0), request.size, Way::kSplit));
  return MapMore(request, candidate);
}

// Tries reuse, then the tail. Needs a tail with room; ignores seams.
Placement Placer::PlaceAtTail(const Request& request) {
  Candidate candidate;
  candidate.free = memory_->space.TailFit(request.size);
  if (candidate.free == kNone) return Placement();
  candidate.tail = true;
  Placement placement;
  if (memory_->ranges.HasCachedStitches(request.size) && Reuse(request, candidate, &placement)) return placement;
  return Remember(request, Split(candidate.free, Bytes(0), request.size, Way::kSplit));
}

// True where only a seam serves the request now, but a recut may serve it after a wait for the device.
bool Placer::ShouldWait(const Request& request) const {
  const Bytes most = SeamBudget(request) * memory_->thresholds.seams_before_wait;
  return request.may_wait && IsNear(request.limit) && !order_->HasProven(memory_->epoch()) &&
         memory_->blocks.seamed_bytes() > most;
}

// The best fit; the tail only where nothing else fits.
ChunkId Placer::Room(Bytes size) const {
  const ChunkId free = memory_->space.BestFit(size);
  return free != kNone ? free : memory_->space.TailFit(size);
}

Status Placer::Preallocate(const Request& request) {
  const Status status = order_->MayUnmap();
  if (!status.ok()) return status;
  StatusOr<Fill> fill = grower_.PlanAnywhere(request.size, /*scattered=*/false, InputOf(request));
  return fill.ok() ? grower_.Create(&*fill, nullptr) : fill.status();
}

ChunkId Placer::TakeContiguous(const Request& request) {
  const Candidate candidate = FindCandidate(request);
  const bool taken = candidate.may_split() && !candidate.tail;
  return taken ? memory_->space.Take(candidate.free, candidate.fit.offset, request.size) : kNone;
}

ChunkId Placer::TakeFragment(Bytes size, const Request& request) {
  const ChunkId free = memory_->space.BestFit(size);
  if (free == kNone) return kNone;
  const Chunk& chunk = memory_->chunks[free];
  const bool fits = chunk.size <= request.size && (IsInGranule(chunk) || !IsOverSeamBudget(request));
  return fits ? memory_->space.Take(free, Bytes(0), chunk.size) : kNone;
}

bool Placer::IsInGranule(const Chunk& chunk) const {
  const Block& block = memory_->blocks[memory_->blocks.At(chunk.address)];
  return block.size == memory_->blocks.granularity() && chunk.end() <= block.end();
}

Placer::Candidate Placer::FindCandidateIgnoringSeams(const Request& request) const {
  Candidate candidate;
  candidate.free = Room(request.size);
  candidate.tail = candidate.free != kNone && memory_->chunks[candidate.free].tail;
  return candidate;
}

Placer::Candidate Placer::FindCandidate(const Request& request) const {
  Candidate candidate = FindCandidateIgnoringSeams(request);
  if (request.at_home) return CandidateForSlab(request, candidate);
  if (!IsNear(request.limit)) return candidate;
  if (candidate.free != kNone) candidate.fit = FitIn(memory_->chunks[candidate.free], request.size);
  const bool costs = candidate.free == kNone || candidate.fit.seam > Bytes(0);
  if (costs && IsOverSeamBudget(request)) AvoidSeams(request, &candidate);
  return candidate;
}

// A slab may live longer than its neighbours, so even a seam that exists already counts: the slab would keep it.
Placer::Candidate Placer::CandidateForSlab(const Request& request, Candidate candidate) const {
  candidate.avoids_seams = IsOverSeamBudget(request);
  candidate.adds_seam = candidate.avoids_seams && candidate.free != kNone;
  return candidate;
}

bool Placer::IsOverSeamBudget(const Request& request) const {
  return memory_->blocks.seamed_bytes() > SeamBudget(request);
}

void Placer::AvoidSeams(const Request& request, Candidate* candidate) const {
  const bool has_room = candidate->free != kNone;
  if (has_room && FindSeamlessFit(request.size, candidate)) return;
  candidate->avoids_seams = true;
  candidate->adds_seam = has_room;
}

// Looks for a larger chunk than the best fit in which the request adds no seam.
bool Placer::FindSeamlessFit(Bytes size, Candidate* candidate) const {
  bool found = false;
  memory_->space.ForEachLarger(size, [&](ChunkId id) {
    const Fit fit = FitIn(memory_->chunks[id], size);
    if (fit.seam > Bytes(0)) return false;
    candidate->free = id;
    candidate->fit = fit;
    candidate->tail = false;
    return found = true;
  });
  return found;
}

// A tail is used from its front, so that the rest stays contiguous.
Fit Placer::FitIn(const Chunk& chunk, Bytes size) const {
  if (!chunk.tail) return FitWithFewestSeams(memory_->blocks, chunk, size);
  return {Bytes(0), chunk.size == size ? Bytes(0) : SeamAt(memory_->blocks, chunk.address + size)};
}

Bytes Placer::SeamBudget(const Request& request) const {
  const Thresholds& t = memory_->thresholds;
  const Bytes spare = (request.limit - std::min(request.limit, request.peak)) / t.spare_per_seams;
  return request.at_home ? std::min(spare, request.limit / t.limit_per_seams) : spare;
}

bool Placer::Reuse(const Request& request, const Candidate& candidate, Placement* placement) {
  const bool may_take_tail = candidate.tail && !candidate.adds_seam;
  const int64_t tail_use =
      may_take_tail ? tail_history_.Find(request.size, memory_->chunks[candidate.free].address) : TailHistory::kNever;
  const CachedStitch* stitch =
      memory_->ranges.FindCachedStitch(request.size, tail_use, /*seamless=*/candidate.avoids_seams);
  if (stitch != nullptr) {
    *placement = LeaseFrom(stitch->range, stitch->offset, request, Way::kReuse);
    return true;
  }
  return !may_take_tail && ReusePart(request, candidate, placement);
}

bool Placer::ReusePart(const Request& request, const Candidate& candidate, Placement* placement) {
  if (request.size > memory_->space.free_bytes()) return false;
  const Spot spot = memory_->ranges.room().FindSpot(request.size, /*seamless=*/candidate.avoids_seams);
  if (spot.range == kNone) return false;
  memory_->ranges.AddCachedStitch(request.size, spot.range, spot.offset, request.number);
  *placement = LeaseFrom(spot.range, spot.offset, request, Way::kReuse);
  return true;
}

Placement Placer::Remember(const Request& request, const Placement& placement) {
  tail_history_.Add(request.size, placement.address, request.number);
  return placement;
}

StatusOr<Placement> Placer::MapMore(const Request& request, const Candidate& candidate) {
  GMLAKE_RETURN_IF_ERROR(order_->MayMap(request.stream));
  if (request.at_home) return candidate.avoids_seams ? PlaceInOwnBlock(request) : Grow(request, Headroom(request));
  return candidate.adds_seam ? StitchOrGrow(request, candidate) : GrowOrStitch(request, candidate);
}

StatusOr<Placement> Placer::GrowOrStitch(const Request& request, const Candidate& candidate) {
  StatusOr<Placement> slack = Grow(request, GrowthAllowance(InputOf(request)));
  if (!IsOutOfMemory(slack)) return slack;
  StatusOr<Placement> stitched = StitchOrGrow(request, candidate);
  if (!IsOutOfMemory(stitched)) return stitched;
  StatusOr<Placement> grown = Grow(request, Headroom(request));
  return IsRefusedByLimit(grown, request.size) ? stitched : grown;
}

StatusOr<Placement> Placer::Grow(const Request& request, Bytes most) {
  GMLAKE_ASSIGN_OR_RETURN(Grower::Plan plan, grower_.Contiguous(request.size));
  if (AlignUp(plan.deficit, memory_->blocks.granularity()) > most) return OutOfMemory(request.size);
  ChunkId free = kNone;
  Fill fill = grower_.PlanFill(plan, InputOf(request));
  GMLAKE_RETURN_IF_ERROR(grower_.Create(&fill, &free));
  return Remember(request, Split(free, Bytes(0), request.size, Way::kGrow));
}

// Grows where a stitch would create as many bytes: growth needs no further mappings.
StatusOr<Placement> Placer::StitchOrGrow(const Request& request, const Candidate& candidate) {
  StitchPlan plan = planner_.Plan(request.size, IsNear(request.limit));
  if (candidate.avoids_seams) plan = Recut(request, plan);
  return candidate.avoids_seams && AddsSeam(plan) ? OutOfMemory(request.size) : StitchOrGrow(request, candidate, plan);
}

StatusOr<Placement> Placer::StitchOrGrow(const Request& request, const Candidate& candidate, const StitchPlan& plan) {
  const Bytes missing = AlignUp(plan.more.missing, memory_->blocks.granularity());
  if (!candidate.adds_seam) {
    StatusOr<Placement> grown = Grow(request, std::min(missing, Headroom(request)));
    if (!IsOutOfMemory(grown)) return grown;
  }
  if (missing > (candidate.adds_seam ? Bytes(0) : Headroom(request))) return OutOfMemory(request.size);
  const Address home = HomeOf(plan, missing);
  if (home.is_null()) return Stitch(request, plan);
  return TakeHome(request, home, Way::kSplit);
}

// The address at which a plan of free pieces alone needs no mapping; else null.
Address Placer::HomeOf(const StitchPlan& plan, Bytes missing) const {
  return plan.kept.empty() && missing == Bytes(0) ? HomeOf(plan.more) : Address();
}

// The address of the pieces, if they follow each other at home; else null.
Address Placer::HomeOf(const Selection& selection) const {
  std::vector<Piece> pieces = selection.pieces;
  if (selection.tail.block != kNone) pieces.push_back(selection.tail);
  const auto home = [this](const Piece& piece) { return memory_->blocks[piece.block].home + piece.from; };
  for (size_t i = 1; i < pieces.size(); ++i) {
    if (home(pieces[i - 1]) + pieces[i - 1].size() != home(pieces[i])) return Address();
  }
  return pieces.empty() ? Address() : home(pieces.front());
}

StatusOr<Placement> Placer::Stitch(const Request& request, const StitchPlan& plan) {
  GMLAKE_ASSIGN_OR_RETURN(RangeId range, mapper_.Map(plan, InputOf(request), request.may_wait));
  memory_->ranges.AddCachedStitch(request.size, range, plan.offset, request.number);
  return LeaseFrom(range, plan.offset, request, Way::kStitch);
}

bool Placer::AddsSeam(const StitchPlan& plan) const {
  const Piece& tail = plan.more.tail;
  return tail.block != kNone && SeamAt(memory_->blocks, memory_->blocks[tail.block].home + tail.to) > Bytes(0);
}

// Where the plan ends inside a large free block, cuts a block of that size, so that the plan ends between blocks.
StitchPlan Placer::Recut(const Request& request, const StitchPlan& plan) {
  if (!AddsSeam(plan)) return plan;
  const Piece tail = plan.more.tail;
  std::vector<BlockId> taken = plan.kept;
  for (const Piece& piece : plan.more.pieces) taken.push_back(piece.block);
  const Address home = recutter_.Recut(memory_->blocks[tail.block].size, tail.to, taken, plan.range);
  return home.is_null() ? planner_.Plan(request.size, IsNear(request.limit)) : EndWith(plan, home, tail.to);
}

// Tries in this order: a free block of this size, a new one within the slack, a part of a larger one that is recut, a
// new one within the limit.
StatusOr<Placement> Placer::PlaceInOwnBlock(const Request& request) {
  const FreeBlock free = planner_.stitcher().SmallestWhole(request.size);
  if (free.size == request.size) return TakeHome(request, free.home, Way::kSplit);
  StatusOr<Placement> grown = GrowOwnBlock(request, GrowthAllowance(InputOf(request)));
  if (!IsOutOfMemory(grown)) return grown;
  const Address cut = free.block == kNone ? Address() : recutter_.Recut(free.size, request.size, {}, kNone);
  if (!cut.is_null()) return TakeHome(request, cut, Way::kSplit);
  return IsNear(request.limit) && free.block != kNone ? grown : GrowOwnBlock(request, Headroom(request));
}

StatusOr<Placement> Placer::GrowOwnBlock(const Request& request, Bytes most) {
  if (request.size > most) return OutOfMemory(request.size);
  GMLAKE_ASSIGN_OR_RETURN(Fill fill, grower_.PlanAnywhere(request.size, /*scattered=*/false, InputOf(request)));
  GMLAKE_RETURN_IF_ERROR(grower_.Create(&fill, nullptr));
  return TakeHome(request, fill.parts.front().at, Way::kGrow);
}

Placement Placer::TakeHome(const Request& request, Address home, Way way) {
  return {memory_->TakeInterval(home, home + request.size), way, home};
}

// Replaces the plan's tail by `size` bytes of the blocks that begin at `home`.
StitchPlan Placer::EndWith(StitchPlan plan, Address home, Bytes size) const {
  plan.more.tail = {kNone, Bytes(0), Bytes(0)};
  for (const Address end = home + size; home < end;) {
    const BlockId id = memory_->blocks.At(home);
    const Block& block = memory_->blocks[id];
    const Piece piece{id, Bytes(0), std::min(block.size, end - home)};
    if (piece.to == block.size) {
      plan.more.pieces.push_back(piece);
    } else {
      plan.more.tail = piece;
    }
    home = block.end();
  }
  return plan;
}

Placement Placer::LeaseFrom(RangeId id, Bytes offset, const Request& request, Way way) {
  StitchedRange& range = memory_->ranges[id];
  ++range.leases;
  range.last_use = request.number;
  const Address address = range.base + offset;
  const ChunkId chunk = memory_->Take(memory_->ranges.PiecesOf(id, offset, request.size));
  memory_->chunks[chunk].range = id;
  return {chunk, way, address};
}

Bytes Placer::Headroom(const Request& request) const { return request.limit - memory_->reserved(); }

GrowthInput Placer::InputOf(const Request& request) const {
  GrowthInput input;
  input.granularity = memory_->blocks.granularity();
  input.reserved = memory_->reserved();
  input.limit = request.limit;
  input.peak = request.peak;
  input.seamed = memory_->blocks.seamed_bytes();
  input.request = request.size;
  input.thresholds = memory_->thresholds;
  return input;
}

}  // namespace gmlake
