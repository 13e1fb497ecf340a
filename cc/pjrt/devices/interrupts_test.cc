#include "cc/pjrt/devices/interrupts.h"

#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace gmlake {
namespace {

using Action = struct sigaction;

std::atomic<int> calls{0};

void Host(int) { ++calls; }
void Another(int) {}
void WithInformation(int, siginfo_t*, void*) {}

Action Current() {
  Action action = {};
  sigaction(SIGINT, nullptr, &action);
  return action;
}

void Handle(void (*handler)(int), int flags = SA_ONSTACK) {
  Action action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(SIGINT, &action, nullptr);
}

// Begins with the handler of a host, and leaves the process its own.
class InterruptsTest : public testing::Test {
 protected:
  InterruptsTest() : before_(Current()) {
    calls = 0;
    Handle(&Host);
  }
  ~InterruptsTest() override { sigaction(SIGINT, &before_, nullptr); }

 private:
  Action before_;
};

TEST_F(InterruptsTest, ASignalIsSeenAndTheHostsHandlerIsCalled) {
  const std::function<bool()> interrupted = WatchInterrupts();
  EXPECT_FALSE(interrupted());
  raise(SIGINT);
  EXPECT_TRUE(interrupted());
  EXPECT_EQ(calls, 1);
}

TEST_F(InterruptsTest, WithTheLastWatchTheHostsHandlerIsBack) {
  Handle(&Host, SA_ONSTACK | SA_RESTART);
  std::function<bool()> one = WatchInterrupts();
  std::function<bool()> other = WatchInterrupts();
  EXPECT_EQ(Current().sa_flags & SA_RESTART, SA_RESTART);
  one = nullptr;
  raise(SIGINT);
  EXPECT_TRUE(other());
  other = nullptr;
  EXPECT_EQ(Current().sa_handler, &Host);
  EXPECT_EQ(Current().sa_flags & (SA_ONSTACK | SA_RESTART), SA_ONSTACK | SA_RESTART);
  raise(SIGINT);
  EXPECT_EQ(calls, 2);
}

TEST_F(InterruptsTest, AnEarlierSignalIsOfNoConcern) {
  const std::function<bool()> first = WatchInterrupts();
  raise(SIGINT);
  EXPECT_FALSE(WatchInterrupts()());
}

TEST_F(InterruptsTest, AHandlerThatTheHostSetsMeanwhileStays) {
  {
    const std::function<bool()> interrupted = WatchInterrupts();
    Handle(&Another);
  }
  EXPECT_EQ(Current().sa_handler, &Another);
}

TEST_F(InterruptsTest, TheHostMaySetItsHandlerAgainDuringAWait) {
  const std::function<bool()> first = WatchInterrupts();
  Handle(&Host);
  const std::function<bool()> second = WatchInterrupts();
  raise(SIGINT);
  EXPECT_TRUE(first());
  EXPECT_TRUE(second());
  EXPECT_EQ(calls, 1);
}

// A library that saved our handler as the one before its own may put it back after the wait.
TEST_F(InterruptsTest, OursMayBePutBackBySomebodyElse) {
  Action ours = {};
  {
    const std::function<bool()> interrupted = WatchInterrupts();
    ours = Current();
  }
  sigaction(SIGINT, &ours, nullptr);
  raise(SIGINT);
  EXPECT_EQ(calls, 1);
  {
    const std::function<bool()> interrupted = WatchInterrupts();
    raise(SIGINT);
    EXPECT_TRUE(interrupted());
  }
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(Current().sa_handler, &Host);
}

Action replaced;

void CallsWhatItReplaced(int signal) { replaced.sa_handler(signal); }

TEST_F(InterruptsTest, AHandlerThatCallsWhatItReplacedDoesNotCallItselfThroughUs) {
  {
    const std::function<bool()> interrupted = WatchInterrupts();
    replaced = Current();
    Handle(&CallsWhatItReplaced);
  }
  const std::function<bool()> interrupted = WatchInterrupts();
  raise(SIGINT);
  EXPECT_EQ(calls, 1);
}

TEST_F(InterruptsTest, WhereThereIsNothingToCallNothingIsChanged) {
  for (void (*action)(int) : {SIG_IGN, SIG_DFL}) {
    Handle(action);
    const std::function<bool()> interrupted = WatchInterrupts();
    EXPECT_EQ(Current().sa_handler, action);
    EXPECT_FALSE(interrupted());
  }
  Action action = {};
  action.sa_sigaction = &WithInformation;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGINT, &action, nullptr);
  const std::function<bool()> interrupted = WatchInterrupts();
  EXPECT_EQ(Current().sa_sigaction, &WithInformation);
}

TEST_F(InterruptsTest, ManyThreadsWatchWhileSignalsArrive) {
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!done) WatchInterrupts()();
    });
  }
  for (int i = 0; i < 2000; ++i) raise(SIGINT);
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls, 2000);
  EXPECT_EQ(Current().sa_handler, &Host);
}

}  // namespace
}  // namespace gmlake
