// Programs of operations on one allocator, four bytes an operation, so that a random generator, a fuzzer and a kept
// corpus all speak the same language. Any bytes are a program: numbers are taken modulo what exists.
//
// The program plays the host framework: it queues work on streams, orders streams as a framework must, and frees on the
// stream that used the memory last. It also plays the device (work that finishes late), other processes (memory that
// disappears), other threads (that come in while one waits for the device) and bad luck (driver calls that fail). The
// shadow checks every step. Copies happen when they are waited for, and not before; streams may go while they have work
// or are being captured; addresses are few. Where the device sleeps, stamps tell whether every lease wakes up with its
// bytes.
#ifndef GMLAKE_SAFETY_PROGRAM_H_
#define GMLAKE_SAFETY_PROGRAM_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cc/base/bytes.h"
#include "cc/core/allocator.h"
#include "cc/driver/fake_driver.h"
#include "cc/safety/shadow.h"
#include "cc/safety/stamps.h"

namespace gmlake {

struct Operation {
  uint8_t kind = 0;
  uint8_t a = 0;
  uint8_t b = 0;
  uint8_t c = 0;
};

std::vector<Operation> Decode(const uint8_t* data, size_t size);

// Model: a device, an allocator and their shadow. Invariant: Step returns "" unless an invariant of the allocator
// broke; after that the program is over. Not thread-safe.
class Program {
 public:
  static constexpr int kStreams = 3;

  // `crowded`: addresses come in small portions that border on each other, and every name is used again at once.
  explicit Program(Bytes limit, bool crowded = false);
  ~Program() { ComeInNoMore(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Does one operation and checks everything; the first problem, or nothing.
  std::string Step(Operation operation);
  // The same in two: for those who have checked this beginning of a program before.
  void Dispatch(Operation operation);
  std::string Check();

  size_t num_leases() { return shadow_.leases().size(); }
  AllocatorStats Stats() const { return allocator_->Stats(); }
  int64_t num_wakes() const { return wakes_; }
  // Ends well: all is freed, waited for, and must be there again; then the allocator goes and leaves nothing.
  std::string Finish();
  // Ends abruptly: the allocator goes while leases live and work is queued.
  std::string Abandon();

 private:
  // What must not change when a request is refused.
  struct Before {
    AllocatorStats stats;
    int64_t failed_calls;
    int64_t mapping_changes;
    Bytes addresses;
  };

  void Allocate(Operation operation);
  void AllocateAbsurd(Operation operation);
  void Free(Operation operation);
  void FreeHalf(Operation operation);
  void FreeForeign(Operation operation);
  void Use(Operation operation);
  void Query(Operation operation);
  void Trim(Operation operation);
  void ChangeLimit(Operation operation);
  void Maintain(Operation operation);
  void Capture(Operation operation);
  void FailCalls(Operation operation);
  void TakeForeignMemory(Operation operation);
  void FinishWork(Operation operation);
  void RetireStream(Operation operation);
  void Retire(int index);
  void MakeHome(bool all);
  void GoToExtremes(Operation operation);
  void QueryOrSleep(Operation operation);
  void SleepOrWake(Operation operation);
  void FallAsleep(Operation operation);
  SleepRequest DropSome(Operation operation);
  void WakeUp();
  void PutStamps();
  bool StampsHold();
  // The framework keeps requests away while a device is about to fall asleep; those that come a little later are
  // refused.
  bool MayRequest() const { return !drowsy_ || allocator_->IsAsleep(); }
  void ReadAsleep();
  void Interrupt();
  void ComeInNoMore();

  Bytes SizeOf(Operation operation);
  Bytes FreshSizeOf(Operation operation) const;
  void Request(Bytes size, StreamHandle stream);
  void ExpectRefusalLeftNoTrace(const Before& before, Bytes size, StreamHandle stream);
  bool MustSucceed(const Before& before, Bytes size, StreamHandle stream) const;
  bool CanOrder(const Shadow::Lease& lease, StreamHandle stream) const;
  void Launch(size_t index, StreamHandle stream);
  void FreeAll();
  void ExpectAllCanBeHadAgain();
  void ExpectNothingLeft(const AllocatorStats& last);
  bool Capturing(StreamHandle stream) const { return capturing_[IndexOf(stream)]; }
  bool AnyCapturing() const { return std::count(capturing_, capturing_ + kStreams, true) > 0; }
  // Is nothing to be mapped now? For certain; where home is not known, nobody can tell.
  bool HomeIsCaptured() const { return home_is_known_ && Capturing(home()); }
  // A stream that is retired is followed by one with another handle and the same number.
  StreamHandle Stream(int index) const {
    const intptr_t handle = 1 + index % kStreams + kStreams * generation_[index % kStreams];
    return {reinterpret_cast<void*>(handle)};
  }
  static int IndexOf(StreamHandle stream) {
    return static_cast<int>((reinterpret_cast<intptr_t>(stream.value) - 1) % kStreams);
  }
  StreamHandle home() const { return Stream(0); }
  Before Now() const;
  void Expect(bool holds, const char* problem);

  Bytes limit_;
  FakeDriver driver_;
  Stamps stamps_{&driver_};
  std::unique_ptr<Allocator> allocator_;
  Shadow shadow_;
  intptr_t generation_[kStreams] = {};
  Operation current_;
  bool interrupted_ = false;  // others came in during a wait of the present operation
  bool capturing_[kStreams] = {};
  bool home_is_known_ = true;  // it is Stream(0)
  bool foreign_memory_ = false;
  bool drowsy_ = false;                 // the device is falling asleep
  std::set<int64_t> tagged_, dropped_;  // owners: whose contents may be dropped in a sleep, and are in this one
  int64_t wakes_ = 0;
  std::vector<Bytes> history_;  // sizes to ask for again
  std::string problem_;
};

}  // namespace gmlake

#endif  // GMLAKE_SAFETY_PROGRAM_H_
