// What becomes of refused requests, on a device that obeys a script: which error is about which, who hears of it, what
// is only counted, what is saved.
#include "cc/pjrt/shortages.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cc/driver/testing/scripted_cuda_fixture.h"
#include "cc/pjrt/device_registry.h"

namespace gmlake {
namespace {

// As XLA says it of a request of 400 MiB.
constexpr char kError400[] = "RESOURCE_EXHAUSTED: Out of memory allocating 419430400 bytes.";

class ShortagesTest : public ScriptedCudaTest {
 protected:
  void SetUp() override {
    ScriptedCudaTest::SetUp();
    script().num_devices = 2;
    script().total = size_t{256} << 20;
    Options options;
    options.driver_path = kScriptedCudaPath;
    options.limit_kind = GMLAKE_LIMIT_BYTES;
    options.limit = MiB(64);
    registry_ = std::make_unique<DeviceRegistry>(options);
    ASSERT_TRUE(registry_->Serve({}).ok());
  }
  void TearDown() override { registry_->StopHousekeeping(); }

  ServedDevice* Device(int ordinal = 0) { return registry_->Find(ordinal); }

  // What Claim says, and what it writes to standard error.
  std::string Claim(const std::string& text) {
    testing::internal::CaptureStderr();
    std::string line = shortages_.Claim(text);
    screen_ = testing::internal::GetCapturedStderr();
    return line;
  }

  std::unique_ptr<DeviceRegistry> registry_;
  Shortages shortages_;
  std::string screen_;
};

TEST_F(ShortagesTest, AnErrorThatIsNotOurDoingIsLeftAlone) {
  EXPECT_EQ(Claim(kError400), "");
  EXPECT_EQ(screen_, "");
}

TEST_F(ShortagesTest, ARefusalThatReachesTheProgramIsToldAndIsNoSoftFailure) {
  shortages_.Record(Device(), MiB(400));
  EXPECT_EQ(shortages_.NumUnnoticed(0), 1);
  EXPECT_NE(Claim(kError400).find("asked for 400.0 MiB"), std::string::npos);
  EXPECT_NE(screen_.find("out of memory on device 0"), std::string::npos);
  EXPECT_EQ(shortages_.NumUnnoticed(0), 0);
}

TEST_F(ShortagesTest, ARefusalThatReachesNobodyIsASoftFailureOfItsDevice) {
  testing::internal::CaptureStderr();
  shortages_.Record(Device(0), MiB(400));
  shortages_.Record(Device(0), MiB(500));
  shortages_.Record(Device(1), MiB(600));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nobody hears of what nobody missed";
  EXPECT_EQ(shortages_.NumUnnoticed(0), 2);
  EXPECT_EQ(shortages_.NumUnnoticed(1), 1);
}

TEST_F(ShortagesTest, OfSeveralRefusalsTheErrorIsAboutTheOneThatItNames) {
  shortages_.Record(Device(), MiB(400));
  shortages_.Record(Device(), MiB(500));
  EXPECT_NE(Claim(kError400).find("asked for 400.0 MiB"), std::string::npos);
  EXPECT_EQ(shortages_.NumUnnoticed(0), 1) << "the other one is still a soft failure";
  EXPECT_NE(Claim("Out of memory while trying to allocate 500.00MiB and so on").find("500.0 MiB"), std::string::npos);
  EXPECT_EQ(shortages_.NumUnnoticed(0), 0);
}

TEST_F(ShortagesTest, WhatThePluginAskedForTwiceIsOneFailureWithOneReport) {
  shortages_.Record(Device(), MiB(400));
  shortages_.Record(Device(), MiB(400));
  const std::string line = Claim(kError400);
  EXPECT_EQ(shortages_.NumUnnoticed(0), 0);
  EXPECT_EQ(screen_.find("earlier"), std::string::npos);
  EXPECT_EQ(Claim(kError400), line) << "the text is read more than once";
  EXPECT_EQ(screen_, "") << "the report came already";
}

TEST_F(ShortagesTest, TheReportMentionsSoftFailuresBeforeIt) {
  shortages_.Record(Device(), MiB(500));
  shortages_.Record(Device(), MiB(400));
  Claim(kError400);
  EXPECT_NE(screen_.find("1 earlier request"), std::string::npos) << screen_;
}

TEST_F(ShortagesTest, AnErrorWithoutASizeIsAboutTheNewest) {
  shortages_.Record(Device(), MiB(400));
  shortages_.Record(Device(), MiB(500));
  EXPECT_NE(Claim("no memory").find("asked for 500.0 MiB"), std::string::npos);
}

TEST_F(ShortagesTest, ASizeInsideAnotherNumberIsNotThatSize) {
  shortages_.Record(Device(), Bytes(1943040));
  shortages_.Record(Device(), MiB(500));
  EXPECT_NE(Claim("Out of memory allocating 419430400 bytes.").find("500.0 MiB"), std::string::npos);
}

TEST_F(ShortagesTest, ASleepingDeviceSaysSoAndCountsNoFailure) {
  shortages_.RecordAsleep(Device(1), MiB(400));
  EXPECT_EQ(shortages_.NumUnnoticed(1), 0);
  EXPECT_NE(Claim(kError400).find("device 1 is asleep"), std::string::npos);
  EXPECT_EQ(screen_, "");
}

TEST_F(ShortagesTest, RefusalsAreCountedByThread) {
  const int64_t before = Shortages::NumOnThisThread();
  std::thread([this] { shortages_.Record(Device(), MiB(400)); }).join();
  EXPECT_EQ(Shortages::NumOnThisThread(), before);
  shortages_.Record(Device(), MiB(400));
  EXPECT_EQ(Shortages::NumOnThisThread(), before + 1);
}

std::vector<int64_t> told;  // bytes asked for, of each question to the host
int answer = 0;

int Answer(const GmlakeShortage* shortage) {
  told.push_back(shortage->asked_bytes);
  return answer;
}

TEST_F(ShortagesTest, TheHostIsAskedAboutWhatFailedAndItsAnswerCounts) {
  told.clear();
  EXPECT_FALSE(shortages_.has_callback());
  shortages_.Record(Device(), MiB(400));
  EXPECT_FALSE(shortages_.AskHost(kError400)) << "nobody to ask";
  shortages_.SetCallback(&Answer);
  for (int yes : {0, 1}) {
    answer = yes;
    EXPECT_EQ(shortages_.AskHost(kError400), yes != 0);
  }
  EXPECT_EQ(told, std::vector<int64_t>(2, 400 << 20));
  EXPECT_EQ(shortages_.NumUnnoticed(0), 1) << "a question is no error of the program";
}

Shortages* asked_within = nullptr;
bool inner_answer = true;

int AskWithin(const GmlakeShortage*) {
  inner_answer = asked_within->AskHost(kError400);
  return 1;
}

TEST_F(ShortagesTest, WhatTheHostAsksForWhileItAnswersIsNoQuestion) {
  asked_within = &shortages_;
  shortages_.SetCallback(&AskWithin);
  shortages_.Record(Device(), MiB(400));
  EXPECT_TRUE(shortages_.AskHost(kError400));
  EXPECT_FALSE(inner_answer);
  EXPECT_TRUE(shortages_.AskHost(kError400)) << "the next one is asked again";
}

class SavingTest : public ShortagesTest {
 protected:
  void SetUp() override {
    ShortagesTest::SetUp();
    folder_ = testing::TempDir() + "/shortages";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    shortages_.SetOptions({folder_, ""});
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
  shortages_.Record(Device(), MiB(400));
  std::ifstream file(Stem(1) + ".txt");
  const std::string saved((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_TRUE(std::filesystem::exists(Stem(1) + ".npz"));
  Claim(kError400);
  EXPECT_EQ(screen_, saved);
  EXPECT_NE(saved.find("Saved: " + Stem(1)), std::string::npos);
}

TEST_F(SavingTest, AProgramThatFailsAgainAndAgainDoesNotFillTheDisk) {
  for (int i = 0; i < 20; ++i) shortages_.Record(Device(), MiB(400));
  EXPECT_EQ(NumFiles(), 2 * 16u);
}

TEST_F(SavingTest, AFolderThatIsGoneCostsALineAndNotTheReport) {
  std::filesystem::remove_all(folder_);
  testing::internal::CaptureStderr();
  shortages_.Record(Device(), MiB(400));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("[gmlake_jax] "), std::string::npos);
  EXPECT_NE(Claim(kError400).find("asked for 400.0 MiB"), std::string::npos);
}

}  // namespace
}  // namespace gmlake
