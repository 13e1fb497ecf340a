// No exception crosses our borders: whatever the host's memory does, and whatever the plugin behind us throws.
#include "cc/pjrt/patch/exception_barrier.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>

#include "cc/pjrt/testing/installation_fixture.h"

namespace {

// Allocations of this thread that still succeed; negative: all.
thread_local int64_t allocations_left = -1;

// Whether the stand-ins for the plugin and the driver have memory all the same: a driver throws nothing.
thread_local bool others_have_memory = true;

// Whether one of the stand-ins asks.
bool IsForOthers() {
  void* frames[8];
  const int count = backtrace(frames, 8);
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    if (dladdr(frames[i], &info) != 0 && std::strstr(info.dli_fname, "libscripted") != nullptr) return true;
  }
  return false;
}

void* Allocate(size_t size) {
  if (allocations_left == 0 && !(others_have_memory && IsForOthers())) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace gmlake {
namespace {

int Throws(int which) {
  if (which == 0) throw std::bad_alloc();
  if (which == 1) throw std::length_error("too long");
  if (which == 2) throw 42;
  return which;
}
int ThrowsAndTells(char*, size_t) { throw std::length_error("too long"); }
const char* ThrowsForText() { throw std::bad_alloc(); }

TEST(ExceptionBarrierTest, WhateverIsThrownBecomesAnAnswer) {
  for (int which : {0, 1, 2}) {
    EXPECT_EQ((ExceptionBarrier<&Throws, AnswerAsCApi>::Call(which)), -1);
    EXPECT_EQ((ExceptionBarrier<&Throws, AnswerAsCuda>::Call(which)), 2);
  }
  EXPECT_EQ((ExceptionBarrier<&Throws, AnswerAsCApi>::Call(7)), 7);
  EXPECT_EQ((ExceptionBarrier<&ThrowsForText, AnswerAsCApi>::Call()), nullptr);
}

TEST(ExceptionBarrierTest, TheCallerOfTheDoorReadsWhy) {
  char message[128] = "";
  EXPECT_EQ((ExceptionBarrier<&ThrowsAndTells, AnswerAsCApi>::Call(message, sizeof message)), -1);
  EXPECT_NE(std::string(message).find("too long"), std::string::npos) << message;
}

void EndThread(int) { pthread_exit(nullptr); }

TEST(ExceptionBarrierTest, AThreadThatEndsGoesOnEnding) {
  pthread_t thread;
  const auto run = [](void*) -> void* {
    ExceptionBarrier<&EndThread, AnswerAsCApi>::Call(0);
    return reinterpret_cast<void*>(1);
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, run, nullptr), 0);
  void* result = reinterpret_cast<void*>(1);
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, nullptr);
}

// Each body runs in a process of its own, which ends without tidying up.
class BorderTest : public InstallationTest {
 protected:
  // With room for any entry's arguments, which say that they have a size.
  struct Arguments {
    void* words[32] = {reinterpret_cast<void*>(size_t{8 * sizeof(void*)})};
  };

  void Begin() {
    plugin_->offer_all();
    before_.assign(Words(), Words() + kEntries);
    ASSERT_EQ(Install(), 0) << message_;
    client_ = CreateClient();
    ASSERT_NE(client_, nullptr);
  }

  void** Words() { return reinterpret_cast<void**>(table_); }

  // `call` with 0, 1, 2 ... allocations until it needs no more; the last attempt is the only one that goes through.
  void WithEverLessMemory(const char* what, const std::function<void()>& call) {
    for (int64_t left = 0; left < kMostAllocations; ++left) {
      bool was_enough = false;
      InOwnProcess(
          [&] {
            Begin();
            allocations_left = left;
            call();
            was_enough = allocations_left > 0;
            allocations_left = -1;
            std::_Exit(HasFailure() ? 1 : was_enough ? kEnough : 0);
          },
          kEnough);
      if (HasFailure()) FAIL() << what << " with " << left << " allocations";
      if (was_enough_) return;
    }
    FAIL() << what << " never has enough";
  }

  // As that of the fixture, but a status is fine, too.
  void InOwnProcess(const std::function<void()>& body, int fine) {
    const pid_t child = fork();
    if (child == 0) {
      body();
      std::_Exit(2);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    was_enough_ = WIFEXITED(status) && WEXITSTATUS(status) == fine;
    EXPECT_TRUE(status == 0 || was_enough_) << "status " << status;
  }

  static constexpr int kEnough = 77;
  static constexpr int64_t kMostAllocations = 3000;

  std::vector<void*> before_;
  PJRT_Client* client_ = nullptr;
  bool was_enough_ = false;
};

TEST_F(BorderTest, WhatThePluginThrowsBecomesAnErrorOfEachEntryThatIsOurs) {
  InOwnProcess(
      [this] {
        Begin();
        int ours = 0;
        plugin_->inside = [](size_t) { throw std::bad_alloc(); };
        for (size_t place : plugin_->offered) {
          if (place >= kEntries || Words()[place] == before_[place]) continue;
          ++ours;
          Arguments args;
          PJRT_Error* const error = reinterpret_cast<PJRT_Error* (*)(void*)>(Words()[place])(args.words);
          ASSERT_NE(error, nullptr) << "entry " << place;
          EXPECT_NE(TextOf(error).find("bad_alloc"), std::string::npos) << TextOf(error);
          Destroy(error);
        }
        EXPECT_GE(ours, 15) << "the entries of ours behind which the plugin has nothing of its own";
        std::_Exit(HasFailure() ? 1 : 0);
      },
      0);
}

TEST_F(BorderTest, ACallWithoutMemoryForAnErrorGetsTheOneThatWasMadeInAdvance) {
  InOwnProcess(
      [this] {
        Begin();
        plugin_->inside = [](size_t) {
          others_have_memory = false;
          allocations_left = 0;
          throw std::bad_alloc();
        };
        for (int i = 0; i < 3; ++i) {
          PJRT_Client_Compile_Args args = {};
          PJRT_Error* const error = table_->PJRT_Client_Compile(&args);
          PJRT_Error_GetCode_Args code = {};
          code.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE;
          code.error = error;
          EXPECT_EQ(table_->PJRT_Error_GetCode(&code), nullptr);
          const PJRT_Error_Message_Args message = MessageOf(error);
          Destroy(error);
          allocations_left = -1;
          EXPECT_EQ(code.code, PJRT_Error_Code_RESOURCE_EXHAUSTED);
          EXPECT_NE(std::string(message.message, message.message_size).find("no memory"), std::string::npos);
        }
        std::_Exit(HasFailure() ? 1 : 0);
      },
      0);
}

TEST_F(BorderTest, ABufferIsMadeOrRefusedWithAnyAmountOfHostMemory) {
  WithEverLessMemory("a buffer", [this] { AskForBytes(client_, 4096); });
  WithEverLessMemory("a buffer that does not fit", [this] {
    PJRT_Error* const error = AskForBytes(client_, int64_t{1} << 40);
    if (error != nullptr) MessageOf(error), Destroy(error);
  });
}

TEST_F(BorderTest, AClientIsMadeOrRefusedWithAnyAmountOfHostMemory) {
  WithEverLessMemory("a client", [this] {
    PJRT_Client_Create_Args args = {};
    args.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE;
    table_->PJRT_Client_Create(&args);
  });
}

TEST_F(BorderTest, EveryFunctionOfTheDoorAnswersWithAnyAmountOfHostMemory) {
  const GmlakeApi* const api = GmlakeGetApi();
  const GmlakeHistoryApi* const history = api->history;
  static char text[4096];
  static AllocatorStats stats;
  static GmlakeSleepReport report;
  static int64_t numbers[4];
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"state", [=] { api->state(); }},
      {"num_devices", [=] { api->num_devices(); }},
      {"stats", [=] { api->stats(0, &stats); }},
      {"reset_peaks", [=] { api->reset_peaks(0); }},
      {"trim", [=] { api->trim(0, 0); }},
      {"set_limit", [=] { api->set_limit(0, 64 << 20, text, sizeof text); }},
      {"is_asleep", [=] { api->is_asleep(0); }},
      {"tag", [=] { api->tag(0, 4096, 1); }},
      {"shared_addresses", [=] { api->shared_addresses(0, nullptr, 0); }},
      {"unprepared", [=] { api->unprepared(0, text, sizeof text); }},
      {"device_memory", [=] { api->device_memory(0, numbers, numbers + 1); }},
      {"probe", [=] { api->probe(kScriptedCudaPath, text, sizeof text); }},
      {"wake", [=] { api->wake(0, &report, text, sizeof text); }},
      {"record", [=] { history->record(0, 100, text, sizeof text); }},
      {"mark", [=] { history->mark(0, "a name that is longer than a short string"); }},
      {"take", [=] { history->take(0, 1); }},
      {"write", [=] { history->write(0, "/dev/null/no", 1, text, sizeof text); }},
      {"enter_label", [=] { history->enter_label("a name that is longer than a short string"); }},
      {"begin_track", [=] { history->begin_track(0, "a name that is longer than a short string"); }},
  };
  for (const auto& [name, call] : calls) WithEverLessMemory(name, call);
}

}  // namespace
}  // namespace gmlake
