// Which of the plugin's entries hold off sleep, which are refused by a device that sleeps, and what happens to a plugin
// with entries that nobody knows.
#include "cc/pjrt/gates/gated_entries.h"

#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "cc/pjrt/testing/installation_fixture.h"

namespace gmlake {
namespace {

// Arguments of any entry, word by word.
struct Words {
  static constexpr size_t kCount = 32;

  explicit Words(size_t size) { words[0] = reinterpret_cast<void*>(size); }
  Words& Set(size_t place, const void* value) {
    words[place] = const_cast<void*>(value);
    return *this;
  }
  Words& Set(size_t place, size_t value) { return Set(place, reinterpret_cast<void*>(value)); }

  void* words[kCount] = {};
};

template <typename Args>
Words WordsOf(const Args& args) {
  static_assert(sizeof(Args) <= sizeof(Words::words));
  Words words(0);
  std::memcpy(words.words, &args, sizeof(Args));
  return words;
}

constexpr size_t kMake = kExtensionEntries;
constexpr size_t kSendByDescriptor = kExtensionEntries + 1;
constexpr size_t kReceive = kExtensionEntries + 2;
constexpr size_t kSend = kExtensionEntries + 3;

class GatedEntriesTest : public InstallationTest {
 protected:
  // Our library under a plugin that offers all there is, with one client.
  void Begin() {
    plugin_->offer_all();
    ASSERT_EQ(Install(), 0) << message_;
    client_ = CreateClient();
    ASSERT_NE(client_, nullptr);
    PJRT_Client_AddressableDevices_Args devices = {};
    devices.client = client_;
    table_->PJRT_Client_AddressableDevices(&devices);
    device_ = devices.addressable_devices[0];
    ASSERT_EQ(AskForBytes(client_, 4096, &buffer_), nullptr);
  }

  void End() {
    PJRT_Buffer_Destroy_Args args = {};
    args.buffer = buffer_;
    table_->PJRT_Buffer_Destroy(&args);
  }

  int Sleep(int64_t patience_ms = 0) {
    GmlakeSleepOptions options = {};
    options.struct_size = sizeof(options);
    options.patience_ms = patience_ms;
    GmlakeSleepReport report = {};
    return GmlakeGetApi()->sleep(0, &options, &report, message_, sizeof(message_));
  }
  int Wake() {
    GmlakeSleepReport report = {};
    return GmlakeGetApi()->wake(0, &report, message_, sizeof(message_));
  }
  bool MessageHas(const char* text) { return std::strstr(message_, text) != nullptr; }

  void* EntryAt(size_t place) {
    void** const words = place < kExtensionEntries ? reinterpret_cast<void**>(table_)
                                                   : reinterpret_cast<void**>(table_->extension_start + 1);
    return words[place < kExtensionEntries ? place : place - kExtensionEntries];
  }

  // One entry returns nothing.
  PJRT_Error* Call(size_t place, Words args) {
    void* const entry = EntryAt(place);
    if (place != kSendByDescriptor) return reinterpret_cast<PJRT_Error* (*)(void*)>(entry)(args.words);
    reinterpret_cast<void (*)(void*)>(entry)(args.words);
    return nullptr;
  }

  // Whether the device cannot be put to sleep while a call of this entry is in progress.
  bool HoldsOffSleep(size_t place) {
    bool held_off = false;
    plugin_->inside = [&](size_t at) {
      if (at != place) return;
      held_off = Sleep() != 0;
      if (!held_off) Wake();
    };
    Words args(8 * sizeof(void*));
    args.Set(7, reinterpret_cast<const void*>(&Ignore));
    Call(place, args);
    plugin_->inside = nullptr;
    plugin_->FinishCopies();
    return held_off;
  }

  // A call that is over, but not what it asked for.
  void ExpectCounted(const char* what, size_t place, Words args) {
    EXPECT_EQ(Call(place, args), nullptr) << what;
    EXPECT_NE(Sleep(), 0) << what;
    EXPECT_TRUE(MessageHas("copy from or to the device is queued")) << what << ": " << message_;
    plugin_->FinishCopies();
    EXPECT_EQ(Sleep(), 0) << what << ": " << message_;
    EXPECT_EQ(Wake(), 0) << what << ": " << message_;
  }

  void ExpectRefused(const char* what, size_t place, Words args) {
    bool reached = false;
    plugin_->inside = [&](size_t at) { reached |= at == place; };
    PJRT_Error* const error = Call(place, args);
    plugin_->inside = nullptr;
    EXPECT_FALSE(reached) << what;
    ASSERT_NE(error, nullptr) << what;
    EXPECT_NE(TextOf(error).find("device 0 is asleep"), std::string::npos) << what << ": " << TextOf(error);
    Destroy(error);
  }

  // Whether somebody else is about to put the device to sleep or to wake it, so that another who wants to must wait.
  static bool IsTaken() {
    Mutex& mutex = gated->registry->Find(0)->sleep_mutex();
    bool taken = true;
    std::thread([&] {
      if (!mutex.try_lock()) return;
      taken = false;
      mutex.unlock();
    }).join();
    return taken;
  }

  static void Ignore(PJRT_Error*, bool, void*) {}

  PJRT_Client* client_ = nullptr;
  PJRT_Device* device_ = nullptr;
  PJRT_Buffer* buffer_ = nullptr;
};

#define GMLAKE_PLACE(name) (offsetof(PJRT_Api, name) / sizeof(void*))

TEST_F(GatedEntriesTest, TheseAndOnlyTheseEntriesHoldOffSleepWhileTheyAreCalled) {
  InOwnProcess([this] {
    Begin();
    const std::set<size_t> expected = {GMLAKE_PLACE(PJRT_LoadedExecutable_Execute),
                                       GMLAKE_PLACE(PJRT_Buffer_ToHostBuffer),
                                       GMLAKE_PLACE(PJRT_Buffer_CopyRawToHost),
                                       GMLAKE_PLACE(PJRT_Buffer_CopyRawToHostFuture),
                                       GMLAKE_PLACE(PJRT_Buffer_CopyToDevice),
                                       GMLAKE_PLACE(PJRT_Buffer_CopyToMemory),
                                       GMLAKE_PLACE(PJRT_Client_CreateUninitializedBuffer),
                                       GMLAKE_PLACE(PJRT_Client_CreateViewOfDeviceBuffer),
                                       GMLAKE_PLACE(PJRT_Client_CreateBuffersForAsyncHostToDevice),
                                       GMLAKE_PLACE(PJRT_AsyncHostToDeviceTransferManager_TransferData),
                                       GMLAKE_PLACE(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral),
                                       GMLAKE_PLACE(PJRT_Client_Compile),
                                       GMLAKE_PLACE(PJRT_Compile),
                                       GMLAKE_PLACE(PJRT_Executable_DeserializeAndLoad),
                                       GMLAKE_PLACE(PJRT_Buffer_IncreaseExternalReferenceCount),
                                       134,  // PJRT_Client_Load
                                       kMake,
                                       kSendByDescriptor,
                                       kReceive,
                                       kSend};
    std::set<size_t> found;
    for (size_t place : std::vector<size_t>(plugin_->offered)) {
      if (HoldsOffSleep(place)) found.insert(place);
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(Sleep(), 0) << message_;
    EXPECT_EQ(Wake(), 0) << message_;
    End();
  });
}

// Who gives up opens the doors again: he must not do so to another who is still closing them.
TEST_F(GatedEntriesTest, OneThreadAtATimeClosesTheDoors) {
  InOwnProcess([this] {
    Begin();
    int first = -1;
    std::thread sleeper;
    const size_t place = GMLAKE_PLACE(PJRT_Compile);
    plugin_->inside = [&](size_t at) {
      if (at != place) return;
      sleeper = std::thread([&] { first = Sleep(60'000); });
      while (!gated->gate.is_closed(0)) std::this_thread::yield();  // he waits for this call to end
      EXPECT_TRUE(IsTaken());
    };
    Call(place, Words(0));
    sleeper.join();
    plugin_->inside = nullptr;
    EXPECT_EQ(first, 0);
    EXPECT_TRUE(gated->gate.is_closed(0));
    EXPECT_FALSE(IsTaken());
    EXPECT_EQ(Wake(), 0) << message_;
    End();
  });
}

// Waking what is awake opens the doors, which must not happen to another who is in the midst of his sleep.
TEST_F(GatedEntriesTest, NobodyOpensTheDoorsInTheMidstOfSleepingOrWaking) {
  InOwnProcess([this] {
    Begin();
    std::map<std::string, bool> taken;
    script().inside = [&](const std::string& call) {
      if (call.rfind("cuMemcpy", 0) != 0) return;
      taken[call] = IsTaken();
      EXPECT_TRUE(gated->gate.is_closed(0)) << call;
    };
    EXPECT_EQ(Sleep(), 0) << message_;
    EXPECT_EQ(Wake(), 0) << message_;
    script().inside = nullptr;
    EXPECT_EQ(taken, (std::map<std::string, bool>{{"cuMemcpyDtoHAsync", true}, {"cuMemcpyHtoDAsync", true}}));
    EXPECT_FALSE(gated->gate.is_closed(0));
    End();
  });
}

// Arguments of `name` with one field set.
#define GMLAKE_ARGS(name, field, value) \
  [&] {                                 \
    name##_Args args = {};              \
    args.field = value;                 \
    return WordsOf(args);               \
  }()
#define GMLAKE_REFUSED(name, field, value) ExpectRefused(#name, GMLAKE_PLACE(name), GMLAKE_ARGS(name, field, value))

TEST_F(GatedEntriesTest, NothingReachesASleepingDevice) {
  InOwnProcess([this] {
    Begin();
    ASSERT_EQ(Sleep(), 0) << message_;
    auto* const memory = reinterpret_cast<PJRT_Memory*>(&device_);  // the plugin's hold a device and nothing else
    auto* const manager = reinterpret_cast<PJRT_AsyncHostToDeviceTransferManager*>(&device_);
    GMLAKE_REFUSED(PJRT_LoadedExecutable_Execute, execute_device, device_);
    GMLAKE_REFUSED(PJRT_Buffer_CopyRawToHost, buffer, buffer_);
    GMLAKE_REFUSED(PJRT_Buffer_CopyRawToHostFuture, buffer, buffer_);
    GMLAKE_REFUSED(PJRT_Buffer_CopyToDevice, buffer, buffer_);
    GMLAKE_REFUSED(PJRT_Buffer_CopyToDevice, dst_device, device_);
    GMLAKE_REFUSED(PJRT_Buffer_CopyToMemory, buffer, buffer_);
    GMLAKE_REFUSED(PJRT_Buffer_CopyToMemory, dst_memory, memory);
    GMLAKE_REFUSED(PJRT_Client_BufferFromHostBuffer, device, device_);
    GMLAKE_REFUSED(PJRT_Client_BufferFromHostBuffer, memory, memory);
    GMLAKE_REFUSED(PJRT_Client_CreateUninitializedBuffer, device, device_);
    GMLAKE_REFUSED(PJRT_Client_CreateViewOfDeviceBuffer, device, device_);
    GMLAKE_REFUSED(PJRT_Client_CreateViewOfDeviceBuffer, memory, memory);
    GMLAKE_REFUSED(PJRT_Client_CreateBuffersForAsyncHostToDevice, memory, memory);
    GMLAKE_REFUSED(PJRT_AsyncHostToDeviceTransferManager_TransferData, transfer_manager, manager);
    GMLAKE_REFUSED(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, transfer_manager, manager);
    GMLAKE_REFUSED(PJRT_Buffer_IncreaseExternalReferenceCount, buffer, buffer_);
    EXPECT_EQ(Wake(), 0) << message_;
    End();
  });
}

TEST_F(GatedEntriesTest, CopiesAreCountedUntilTheyAreOver) {
  InOwnProcess([this] {
    Begin();
    plugin_->copies_take_time = true;
    char something = 0;
    auto* const event = reinterpret_cast<PJRT_Event*>(&something);
    auto* const manager = reinterpret_cast<PJRT_AsyncHostToDeviceTransferManager*>(&device_);
    PJRT_Buffer_CopyToDevice_Args to_device = {};
    to_device.buffer = to_device.dst_buffer = buffer_;
    ExpectCounted("to device", GMLAKE_PLACE(PJRT_Buffer_CopyToDevice), WordsOf(to_device));
    PJRT_Buffer_CopyToMemory_Args to_memory = {};
    to_memory.buffer = to_memory.dst_buffer = buffer_;
    ExpectCounted("to memory", GMLAKE_PLACE(PJRT_Buffer_CopyToMemory), WordsOf(to_memory));
    PJRT_Buffer_ToHostBuffer_Args read = {};
    read.src = buffer_;
    read.dst = &something;
    read.event = event;
    ExpectCounted("read", GMLAKE_PLACE(PJRT_Buffer_ToHostBuffer), WordsOf(read));
    const auto expect_read_counted = [&](const char* what, size_t place, auto args) {
      args.buffer = buffer_;
      args.event = event;
      ExpectCounted(what, place, WordsOf(args));
    };
    expect_read_counted("raw", GMLAKE_PLACE(PJRT_Buffer_CopyRawToHost), PJRT_Buffer_CopyRawToHost_Args{});
    expect_read_counted("raw, later", GMLAKE_PLACE(PJRT_Buffer_CopyRawToHostFuture),
                        PJRT_Buffer_CopyRawToHostFuture_Args{});
    const auto expect_write_counted = [&](const char* what, size_t place, auto args) {
      args.transfer_manager = manager;
      args.done_with_h2d_transfer = event;
      ExpectCounted(what, place, WordsOf(args));
    };
    expect_write_counted("data", GMLAKE_PLACE(PJRT_AsyncHostToDeviceTransferManager_TransferData),
                         PJRT_AsyncHostToDeviceTransferManager_TransferData_Args{});
    expect_write_counted("literal", GMLAKE_PLACE(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral),
                         PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args{});
    End();
  });
}

TEST_F(GatedEntriesTest, TransfersBetweenProcessesAreCountedUntilTheyAreOver) {
  InOwnProcess([this] {
    Begin();
    plugin_->copies_take_time = true;
    PJRT_Buffer* buffers[] = {buffer_};
    char event = 0;
    const void* events[] = {&event};
    ExpectCounted("receive", kReceive, Words(96).Set(3, 1).Set(8, device_).Set(11, buffers));
    ExpectCounted("receive by descriptor", kMake, Words(104).Set(8, device_).Set(11, buffers).Set(12, 1));
    ExpectCounted("send", kSend, Words(64).Set(3, 1).Set(4, buffers).Set(7, events));
    End();
  });
}

TEST_F(GatedEntriesTest, ASendThatAnswersByACallbackIsCountedAndAnsweredOnce) {
  InOwnProcess([this] {
    Begin();
    int answers = 0;
    void (*const callback)(PJRT_Error*, bool, void*) = [](PJRT_Error*, bool, void* to) { ++*static_cast<int*>(to); };
    const Words args = Words(64).Set(2, buffer_).Set(6, &answers).Set(7, reinterpret_cast<const void*>(callback));
    ExpectCounted("send by descriptor", kSendByDescriptor, args);
    EXPECT_EQ(answers, 1);
    End();
  });
}

TEST_F(GatedEntriesTest, ASleepingDeviceNeitherSendsToOtherProcessesNorReceives) {
  InOwnProcess([this] {
    Begin();
    ASSERT_EQ(Sleep(), 0) << message_;
    PJRT_Buffer* buffers[] = {buffer_};
    ExpectRefused("receive", kReceive, Words(96).Set(3, 1).Set(8, device_).Set(11, buffers));
    ExpectRefused("receive by descriptor", kMake, Words(104).Set(3, 1).Set(8, device_).Set(11, buffers));
    ExpectRefused("send", kSend, Words(64).Set(3, 1).Set(4, buffers));
    EXPECT_EQ(Wake(), 0) << message_;
    End();
  });
}

TEST_F(GatedEntriesTest, ASendThatAnswersByACallbackIsRefusedByIt) {
  InOwnProcess([this] {
    Begin();
    ASSERT_EQ(Sleep(), 0) << message_;
    std::string answer;
    std::function<void(PJRT_Error*, bool)> listen = [&](PJRT_Error* error, bool was_enqueued) {
      answer = was_enqueued ? "it was enqueued" : TextOf(error);
    };
    void (*const callback)(PJRT_Error*, bool, void*) = [](PJRT_Error* error, bool was_enqueued, void* user_arg) {
      (*static_cast<std::function<void(PJRT_Error*, bool)>*>(user_arg))(error, was_enqueued);
    };
    const int errors = plugin_->errors;
    Words args = Words(64).Set(2, buffer_).Set(6, &listen).Set(7, reinterpret_cast<const void*>(callback));
    Call(kSendByDescriptor, args);
    EXPECT_NE(answer.find("device 0 is asleep"), std::string::npos) << answer;
    EXPECT_EQ(plugin_->errors, errors) << "the error was not let go of";
    EXPECT_TRUE(plugin_->copying.empty());
    EXPECT_EQ(Wake(), 0) << message_;
    End();
  });
}

TEST_F(GatedEntriesTest, APluginWithAnExtensionThatNobodyKnowsIsServedAndDoesNotSleep) {
  for (const size_t size : {sizeof(PJRT_Extension_Base), size_t{57} * sizeof(void*)}) {
    InOwnProcess([this, size] {
      plugin_->offer_all();
      void* words[57] = {};
      PJRT_Extension_Base& unknown = *reinterpret_cast<PJRT_Extension_Base*>(words);
      unknown.struct_size = size;
      unknown.type = static_cast<PJRT_Extension_Type>(size == sizeof(unknown) ? 8 : 12);  // raw buffers; one that grew
      unknown.next = table_->extension_start;
      table_->extension_start = &unknown;
      ASSERT_EQ(Install(), 0) << message_;
      ASSERT_NE(CreateClient(), nullptr);
      EXPECT_NE(Sleep(), 0);
      EXPECT_TRUE(MessageHas(size == sizeof(unknown) ? "PJRT extension 8 of" : "PJRT extension 12 of 456")) << message_;
    });
  }
}

TEST_F(GatedEntriesTest, APluginWithAnEntryThatNobodyKnowsIsServedAndDoesNotSleep) {
  InOwnProcess([this] {
    plugin_->offer_all();
    std::vector<void*> longer(kEntries + 1);
    std::memcpy(longer.data(), table_, kEntries * sizeof(void*));
    plugin_->table = longer.data();
    table_ = reinterpret_cast<PJRT_Api*>(longer.data());
    table_->struct_size += sizeof(void*);
    ASSERT_EQ(Install(), 0) << message_;
    ASSERT_NE(CreateClient(), nullptr);
    EXPECT_NE(Sleep(), 0);
    EXPECT_TRUE(MessageHas("PJRT entry 143")) << message_;
    DestroyAll();
    clients_.clear();
    errors_.clear();
    std::_Exit(HasFailure() ? 1 : 0);  // the table is this function's
  });
}

}  // namespace
}  // namespace gmlake
