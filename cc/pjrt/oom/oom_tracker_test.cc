// What becomes of refused requests, on a device that obeys a script: which error is about which, who hears of it, what
// is only counted, what is saved.
#include "cc/pjrt/oom/oom_tracker.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cc/driver/testing/scripted_cuda_fixture.h"
#include "cc/pjrt/devices/device_registry.h"
#include "cc/pjrt/patch/fork_guard.h"

namespace gmlake {
namespace {

// As XLA says it of a request of 400 MiB.
constexpr char kError400[] = "RESOURCE_EXHAUSTED: Out of memory allocating 419430400 bytes.";

class OomTrackerTest : public ScriptedCudaTest {
 protected:
  void SetUp() override {
    ScriptedCudaTest::SetUp();
    script().num_devices = 2;
    script().total = size_t{256} << 20;
    Options options;
    options.driver_path = kScriptedCudaPath;
    options.limit_kind = LimitKind::kBytes;
    options.limit = MiB(64);
    registry_ = std::make_unique<DeviceRegistry>(options);
    ASSERT_TRUE(registry_->Serve({}).ok());
  }
  void TearDown() override { registry_->StopHousekeeping(); }

  ServedDevice* Device(int ordinal = 0) { return registry_->Find(ordinal); }

  // An error that a call on this thread returns, in which `during` happened.
  template <typename During>
  static Origin CallWith(OomTracker* oom_events, During during) {
    const OomTracker::Call call(*oom_events);
    during();
    return call.origin();
  }
  template <typename During>
  Origin CallWith(During during) {
    return CallWith(&tracker_, during);
  }
  // An error that surfaces later, of a buffer on the device.
  static Origin OfDevice(int device) {
    Origin origin;
    origin.devices = {device};
    return origin;
  }

  // What Claim says, and what it writes to standard error.
  std::string Claim(const std::string& text, const Origin& origin = {}) {
    testing::internal::CaptureStderr();
    std::string line = tracker_.Claim(text, origin);
    screen_ = testing::internal::GetCapturedStderr();
    return line;
  }

  std::unique_ptr<DeviceRegistry> registry_;
  OomTracker tracker_;
  std::string screen_;
};

TEST_F(OomTrackerTest, AnErrorThatIsNotOurDoingIsLeftAlone) {
  EXPECT_EQ(Claim(kError400), "");
  EXPECT_EQ(screen_, "");
}

TEST_F(OomTrackerTest, ARefusalThatReachesTheProgramIsToldAndIsNoSoftFailure) {
  tracker_.Record(Device(), MiB(400));
  EXPECT_EQ(tracker_.NumUnnoticed(0), 1);
  EXPECT_NE(Claim(kError400).find("asked for 400.0 MiB"), std::string::npos);
  EXPECT_NE(screen_.find("out of memory on device 0"), std::string::npos);
  EXPECT_EQ(tracker_.NumUnnoticed(0), 0);
}

TEST_F(OomTrackerTest, ARefusalThatReachesNobodyIsASoftFailureOfItsDevice) {
  testing::internal::CaptureStderr();
  tracker_.Record(Device(0), MiB(400));
  tracker_.Record(Device(0), MiB(500));
  tracker_.Record(Device(1), MiB(600));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nobody hears of what nobody missed";
  EXPECT_EQ(tracker_.NumUnnoticed(0), 2);
  EXPECT_EQ(tracker_.NumUnnoticed(1), 1);
}

TEST_F(OomTrackerTest, OfSeveralRefusalsTheErrorIsAboutTheOneThatItNames) {
  tracker_.Record(Device(), MiB(400));
  tracker_.Record(Device(), MiB(500));
  EXPECT_NE(Claim(kError400).find("asked for 400.0 MiB"), std::string::npos);
  EXPECT_EQ(tracker_.NumUnnoticed(0), 1) << "the other one is still a soft failure";
  EXPECT_NE(Claim("Out of memory while trying to allocate 500.00MiB and so on").find("500.0 MiB"), std::string::npos);
  EXPECT_EQ(tracker_.NumUnnoticed(0), 0);
}

TEST_F(OomTrackerTest, WhatThePluginAskedForTwiceIsOneFailureWithOneReport) {
  tracker_.Record(Device(), MiB(400));
  tracker_.Record(Device(), MiB(400));
  const std::string line = Claim(kError400);
  EXPECT_EQ(tracker_.NumUnnoticed(0), 0);
  EXPECT_EQ(screen_.find("earlier"), std::string::npos);
  EXPECT_EQ(Claim(kError400), line) << "the text is read more than once";
  EXPECT_EQ(screen_, "") << "the report came already";
}

TEST_F(OomTrackerTest, TheReportMentionsSoftFailuresBeforeIt) {
  tracker_.Record(Device(), MiB(500));
  tracker_.Record(Device(), MiB(400));
  Claim(kError400);
  EXPECT_NE(screen_.find("1 earlier request"), std::string::npos) << screen_;
}

TEST_F(OomTrackerTest, AnErrorThatNamesNoSizeIsNotOurs) {
  const Origin call = CallWith([this] { tracker_.Record(Device(), MiB(400)); });
  EXPECT_EQ(Claim("no memory", call), "");
  EXPECT_EQ(screen_, "");
  EXPECT_EQ(tracker_.NumUnnoticed(0), 1);
}

TEST_F(OomTrackerTest, ASizeInsideAnotherNumberIsNotThatSize) {
  tracker_.Record(Device(), Bytes(1943040));
  EXPECT_EQ(Claim("Out of memory allocating 419430400 bytes."), "");
  tracker_.Record(Device(), MiB(400));
  EXPECT_EQ(Claim("Out of memory allocating 4194304000 bytes."), "");
  EXPECT_EQ(Claim("Out of memory while trying to allocate 1400.00MiB."), "");
}

TEST_F(OomTrackerTest, TheSizeIsFoundInEachFormThatXlaWrites) {
  tracker_.Record(Device(), MiB(400));
  for (const char* text : {"Out of memory allocating 419430400 bytes.", "trying to allocate 400.00MiB.",
                           "trying to allocate 400.00MiB with allocator gpu_async_0", "to allocate 400.00MiB"}) {
    EXPECT_NE(Claim(text), "") << text;
  }
}

TEST_F(OomTrackerTest, AnErrorOfACallIsAboutARefusalDuringThatCall) {
  tracker_.Record(Device(0), MiB(400));
  const Origin call = CallWith([] {});
  EXPECT_EQ(Claim(kError400, call), "") << "that one is over";
  const Origin other = CallWith([this] { tracker_.Record(Device(1), MiB(400)); });
  tracker_.Record(Device(0), MiB(400));
  EXPECT_NE(Claim(kError400, other).find("device 1: asked"), std::string::npos) << "and that one came later";
}

TEST_F(OomTrackerTest, AnErrorOfACallIsAboutARefusalOnItsThread) {
  Origin of_other;
  const Origin call = CallWith(
      [&] { std::thread([&] { of_other = CallWith([this] { tracker_.Record(Device(1), MiB(400)); }); }).join(); });
  EXPECT_EQ(Claim(kError400, call), "");
  EXPECT_NE(Claim(kError400, of_other).find("device 1: asked"), std::string::npos);
}

TEST_F(OomTrackerTest, ACallForSeveralDevicesMayAskOnOtherThreads) {
  Origin call = CallWith([this] { std::thread([this] { tracker_.Record(Device(1), MiB(400)); }).join(); });
  call.devices = {0};
  EXPECT_EQ(Claim(kError400, call), "");
  call.devices = {0, 1};
  EXPECT_NE(Claim(kError400, call).find("device 1: asked"), std::string::npos);
}

TEST_F(OomTrackerTest, AnErrorThatSurfacesLaterIsAboutItsOwnDevice) {
  tracker_.Record(Device(0), MiB(400));
  tracker_.Record(Device(1), MiB(400));
  EXPECT_NE(Claim(kError400, OfDevice(0)).find("device 0: asked"), std::string::npos);
  EXPECT_NE(Claim(kError400, OfDevice(1)).find("device 1: asked"), std::string::npos);
  EXPECT_EQ(Claim(kError400, OfDevice(2)), "");
}

TEST_F(OomTrackerTest, AnErrorThatMayBeOfEitherDeviceIsToldOfNone) {
  tracker_.Record(Device(0), MiB(400));
  EXPECT_NE(Claim(kError400), "");
  tracker_.Record(Device(1), MiB(400));
  EXPECT_EQ(Claim(kError400), "");
}

TEST_F(OomTrackerTest, WhatIsMadeOfABufferInErrorHasAnOlderError) {
  tracker_.Record(Device(1), MiB(400));
  Origin call = CallWith([] {});
  call.may_be_older = true;
  call.devices = {1};
  EXPECT_NE(Claim(kError400, call).find("device 1: asked"), std::string::npos);
}

TEST_F(OomTrackerTest, ACallInsideACallIsPartOfIt) {
  const Origin outer = CallWith([this] {
    CallWith([this] { tracker_.Record(Device(), MiB(400)); });
    CallWith([] {});
  });
  EXPECT_NE(Claim(kError400, outer), "");
}

// The child ends as its parent's test has it: with status 0 if it has learnt nothing.
TEST_F(OomTrackerTest, AForkedChildKnowsNothingOfItsParentsRefusals) {
  WatchForks();
  tracker_.SetCallback([](const GmlakeOomEvent*) { return 1; });
  const Origin call = CallWith([this] { tracker_.Record(Device(), MiB(400)); });
  const OomTracker::Call around(tracker_);
  tracker_.Record(Device(), MiB(400));
  const pid_t child = fork();
  if (child == 0) {
    const bool knows = tracker_.AskHost(kError400) != HostAnswer::kNo || !tracker_.Claim(kError400, call).empty() ||
                       !tracker_.Claim(kError400, {}).empty();
    std::_Exit(knows ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(tracker_.AskHost(kError400), HostAnswer::kYes) << "the parent knows";
}

TEST_F(OomTrackerTest, AnErrorOtherThanOutOfMemoryIsPassedOnAndCountsNoFailure) {
  tracker_.RecordError(Device(1), MiB(400), "a stream is being captured");
  EXPECT_EQ(tracker_.NumUnnoticed(1), 0);
  EXPECT_EQ(Claim(kError400), "[gmlake_jax] device 1: a stream is being captured");
  EXPECT_EQ(screen_, "");
}

TEST_F(OomTrackerTest, TheReasonOfARefusalReachesTheReport) {
  tracker_.Record(Device(), MiB(400), "no addresses are left");
  Claim(kError400);
  EXPECT_NE(screen_.find("refused because no addresses are left"), std::string::npos) << screen_;
}

TEST_F(OomTrackerTest, RefusalsAreCountedByThread) {
  const int64_t before = OomTracker::NumOnThisThread();
  std::thread([this] { tracker_.Record(Device(), MiB(400)); }).join();
  EXPECT_EQ(OomTracker::NumOnThisThread(), before);
  tracker_.Record(Device(), MiB(400));
  EXPECT_EQ(OomTracker::NumOnThisThread(), before + 1);
}

std::vector<int64_t> told;  // bytes asked for, of each question to the host
int answer = 0;

int Answer(const GmlakeOomEvent* oom_event) {
  told.push_back(oom_event->asked_bytes);
  return answer;
}

TEST_F(OomTrackerTest, TheHostIsAskedAboutWhatFailedAndItsAnswerCounts) {
  told.clear();
  EXPECT_FALSE(tracker_.has_callback());
  const OomTracker::Call call(tracker_);
  tracker_.Record(Device(), MiB(400));
  EXPECT_EQ(tracker_.AskHost(kError400), HostAnswer::kNo) << "nobody to ask";
  tracker_.SetCallback(&Answer);
  for (int said : {0, 1, 2}) {
    answer = said;
    EXPECT_EQ(tracker_.AskHost(kError400), static_cast<HostAnswer>(said));
  }
  EXPECT_EQ(told, std::vector<int64_t>(3, 400 << 20));
  EXPECT_EQ(tracker_.NumUnnoticed(0), 1) << "a question is no error of the program";
}

TEST_F(OomTrackerTest, TheHostIsNotAskedAboutWhatIsOverOrOfAnotherSizeOrThread) {
  told.clear();
  answer = 1;
  tracker_.SetCallback(&Answer);
  CallWith([this] { tracker_.Record(Device(), MiB(400)); });
  EXPECT_EQ(tracker_.AskHost(kError400), HostAnswer::kNo) << "in no call";
  const OomTracker::Call call(tracker_);
  EXPECT_EQ(tracker_.AskHost(kError400), HostAnswer::kNo) << "in another call";
  tracker_.Record(Device(), MiB(500));
  EXPECT_EQ(tracker_.AskHost(kError400), HostAnswer::kNo) << "of another size";
  std::thread([this] { CallWith([this] { tracker_.Record(Device(), MiB(400)); }); }).join();
  EXPECT_EQ(tracker_.AskHost(kError400), HostAnswer::kNo) << "of another thread";
  EXPECT_TRUE(told.empty());
}

TEST_F(OomTrackerTest, TheHostIsNotAskedAboutAnErrorOtherThanOutOfMemory) {
  told.clear();
  tracker_.SetCallback(&Answer);
  const OomTracker::Call call(tracker_);
  tracker_.RecordError(Device(), MiB(400), "the device is asleep");
  EXPECT_EQ(tracker_.AskHost(kError400), HostAnswer::kNo);
  EXPECT_TRUE(told.empty());
}

OomTracker* asked_within = nullptr;
HostAnswer inner_answer = HostAnswer::kYes;

int AskWithin(const GmlakeOomEvent*) {
  inner_answer = asked_within->AskHost(kError400);
  return 1;
}

TEST_F(OomTrackerTest, WhatTheHostAsksForWhileItAnswersIsNoQuestion) {
  asked_within = &tracker_;
  tracker_.SetCallback(&AskWithin);
  const OomTracker::Call call(tracker_);
  tracker_.Record(Device(), MiB(400));
  EXPECT_EQ(tracker_.AskHost(kError400), HostAnswer::kYes);
  EXPECT_EQ(inner_answer, HostAnswer::kNo);
  EXPECT_EQ(tracker_.AskHost(kError400), HostAnswer::kYes) << "the next one is asked again";
}

std::atomic<int> in_question{0};

int WaitForAnother(const GmlakeOomEvent*) {
  ++in_question;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(40);
  while (in_question < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return in_question == 2 ? 1 : 0;
}

TEST_F(OomTrackerTest, TwoThreadsThatRunOutAreBothAskedAbout) {
  tracker_.SetCallback(&WaitForAnother);
  HostAnswer answers[2] = {HostAnswer::kNo, HostAnswer::kNo};
  const auto run_out = [this, &answers](int i) {
    const OomTracker::Call call(tracker_);
    tracker_.Record(Device(), MiB(400));
    answers[i] = tracker_.AskHost(kError400);
  };
  std::thread one(run_out, 0);
  run_out(1);
  one.join();
  EXPECT_EQ(answers[0], HostAnswer::kYes);
  EXPECT_EQ(answers[1], HostAnswer::kYes);
}

class SavingTest : public OomTrackerTest {
 protected:
  void SetUp() override {
    OomTrackerTest::SetUp();
    folder_ = testing::TempDir() + "/oom_events";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    tracker_.SetOptions({folder_, ""});
  }

  std::string Stem(int number) const {
    return folder_ + "/gmlake-oom-" + std::to_string(getpid()) + "-" + std::to_string(number);
  }
  size_t NumFiles() const {
    const std::filesystem::directory_iterator files(folder_);
    return std::distance(begin(files), end(files));
  }

  std::string folder_;
};

TEST_F(SavingTest, WhatIsSavedIsThereBeforeAnybodyReadsTheError) {
  tracker_.Record(Device(), MiB(400));
  std::ifstream file(Stem(1) + ".txt");
  const std::string saved((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_TRUE(std::filesystem::exists(Stem(1) + ".npz"));
  Claim(kError400);
  EXPECT_EQ(screen_, saved);
  EXPECT_NE(saved.find("Saved: " + Stem(1)), std::string::npos);
}

TEST_F(SavingTest, AProgramThatFailsAgainAndAgainDoesNotFillTheDisk) {
  for (int i = 0; i < 20; ++i) tracker_.Record(Device(), MiB(400));
  EXPECT_EQ(NumFiles(), 2 * 16u);
}

TEST_F(SavingTest, ARecordingIsNotWrittenAnewAtEveryRefusal) {
  const std::string path = folder_ + "/recording.npz";
  tracker_.SetOptions({"", path});
  Device()->core().Record(100);
  tracker_.Record(Device(), MiB(400));
  ASSERT_TRUE(std::filesystem::remove(path)) << "the first one is written";
  for (int i = 0; i < 20; ++i) tracker_.Record(Device(), MiB(400));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(SavingTest, AFolderThatIsGoneCostsALineAndNotTheReport) {
  std::filesystem::remove_all(folder_);
  testing::internal::CaptureStderr();
  tracker_.Record(Device(), MiB(400));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("[gmlake_jax] "), std::string::npos);
  EXPECT_NE(Claim(kError400).find("asked for 400.0 MiB"), std::string::npos);
}

}  // namespace
}  // namespace gmlake
