// From the C door to the stock plugin and back: a plugin and a driver that obey scripts stand where jaxlib's and
// NVIDIA's would. Each test runs in a process of its own, because an installation is for the life of a process.
#include "cc/pjrt/installation.h"

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <set>
#include <vector>

#include "cc/driver/testing/scripted_cuda_fixture.h"
#include "cc/pjrt/c_api.h"
#include "cc/pjrt/testing/scripted_plugin.h"

namespace gmlake {
namespace {

class InstallationTest : public ScriptedCudaTest {
 protected:
  void SetUp() override {
    ScriptedCudaTest::SetUp();
    script().total = size_t{1} << 30;
    void* library = dlopen(kScriptedPluginPath, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    plugin_ = reinterpret_cast<GetScriptedPlugin>(dlsym(library, kGetScriptedPlugin))();
    table_ = reinterpret_cast<PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"))();
    plugin_->driver_path = kScriptedCudaPath;
  }

  // The test's body, in a child; what fails there fails here. The child leaves through exit, as a program would.
  void InOwnProcess(const std::function<void()>& body) {
    const pid_t child = fork();
    if (child == 0) {
      body();
      DestroyAll();
      std::exit(HasFailure() ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "see the child's output above";
  }

  GmlakeOptions Options() {
    GmlakeOptions options = {};
    options.struct_size = sizeof(options);
    options.driver_path = kScriptedCudaPath;
    return options;
  }

  int Install(const char* path = kScriptedPluginPath) {
    const GmlakeOptions options = Options();
    return GmlakeGetApi()->install(path, &options, message_, sizeof(message_));
  }

  PJRT_Client* CreateClient(std::vector<PJRT_NamedValue> options = {}) {
    PJRT_Client_Create_Args args = {};
    args.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE;
    args.create_options = options.data();
    args.num_options = options.size();
    PJRT_Error* const error = table_->PJRT_Client_Create(&args);
    EXPECT_EQ(args.create_options, options.data()) << "the caller's arguments were not restored";
    EXPECT_EQ(args.num_options, options.size());
    if (error != nullptr) errors_.push_back(error);
    if (error == nullptr) clients_.insert(args.client);
    return error == nullptr ? args.client : nullptr;
  }

  void DestroyClient(PJRT_Client* client) {
    clients_.erase(client);
    PJRT_Client_Destroy_Args args = {};
    args.struct_size = PJRT_Client_Destroy_Args_STRUCT_SIZE;
    args.client = client;
    EXPECT_EQ(table_->PJRT_Client_Destroy(&args), nullptr);
  }

  PJRT_Device_MemoryStats_Args StatsOf(PJRT_Client* client) {
    PJRT_Client_AddressableDevices_Args devices = {};
    devices.client = client;
    table_->PJRT_Client_AddressableDevices(&devices);
    PJRT_Device_MemoryStats_Args args = {};
    args.struct_size = PJRT_Device_MemoryStats_Args_STRUCT_SIZE;
    args.device = devices.addressable_devices[0];
    EXPECT_EQ(table_->PJRT_Device_MemoryStats(&args), nullptr);
    return args;
  }

  PJRT_Error* AskForBytes(PJRT_Client* client, int64_t count) {
    PJRT_Client_AddressableDevices_Args devices = {};
    devices.client = client;
    table_->PJRT_Client_AddressableDevices(&devices);
    PJRT_Client_BufferFromHostBuffer_Args args = {};
    args.struct_size = PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE;
    args.client = client;
    args.device = devices.addressable_devices[0];
    args.dims = &count;
    args.num_dims = 1;
    return table_->PJRT_Client_BufferFromHostBuffer(&args);
  }

  PJRT_Error_Message_Args MessageOf(PJRT_Error* error) {
    PJRT_Error_Message_Args args = {};
    args.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE;
    args.error = error;
    table_->PJRT_Error_Message(&args);
    return args;
  }

  std::string TextOf(PJRT_Error* error) {
    const PJRT_Error_Message_Args args = MessageOf(error);
    return std::string(args.message, args.message_size);
  }

  void Destroy(PJRT_Error* error) {
    PJRT_Error_Destroy_Args args = {};
    args.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE;
    args.error = error;
    table_->PJRT_Error_Destroy(&args);
  }

  void DestroyAll() {
    while (!clients_.empty()) DestroyClient(*clients_.begin());
    for (PJRT_Error* error : errors_) Destroy(error);
  }

  std::string State() { return GmlakeGetApi()->state(); }
  bool StateHas(const std::string& text) { return State().find(text) != std::string::npos; }
  int NumDevices() { return GmlakeGetApi()->num_devices(); }

  ScriptedPlugin* plugin_ = nullptr;
  PJRT_Api* table_ = nullptr;
  char message_[512] = "";
  std::set<PJRT_Client*> clients_;
  std::vector<PJRT_Error*> errors_;
};

PJRT_NamedValue Allocator(const char* name) {
  PJRT_NamedValue value = {};
  value.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  value.name = "allocator";
  value.name_size = 9;
  value.type = PJRT_NamedValue_kString;
  value.string_value = name;
  value.value_size = std::string(name).size();
  return value;
}

TEST_F(InstallationTest, ServesTheClientThatIsCreatedAfterwards) {
  InOwnProcess([this] {
    script().num_devices = plugin_->num_devices = 2;
    ASSERT_EQ(Install(), 0) << message_;
    EXPECT_TRUE(GmlakeGetApi()->is_installed());
    EXPECT_EQ(NumDevices(), 0);
    EXPECT_TRUE(StateHas("not created its devices yet")) << State();
    ASSERT_NE(CreateClient(), nullptr);
    EXPECT_EQ(plugin_->options["allocator"], "cuda_async");
    EXPECT_EQ(plugin_->options["preallocate"], "false");
    EXPECT_EQ(NumDevices(), 2);
    EXPECT_TRUE(StateHas("active; device 0")) << State();
    EXPECT_EQ(plugin_->buffers, 0);
    EXPECT_EQ(seen().pool_allocations, 0);
  });
}

TEST_F(InstallationTest, InstallingTwiceChangesNothing) {
  InOwnProcess([this] {
    ASSERT_EQ(Install(), 0);
    const auto create = table_->PJRT_Client_Create;
    ASSERT_EQ(Install(), 0) << message_;
    EXPECT_EQ(table_->PJRT_Client_Create, create);
    ASSERT_NE(CreateClient(), nullptr);
    EXPECT_EQ(NumDevices(), 1);
  });
}

TEST_F(InstallationTest, ACreationThatFailsIsTheCallersAffair) {
  InOwnProcess([this] {
    ASSERT_EQ(Install(), 0);
    plugin_->creation_fails = true;
    EXPECT_EQ(CreateClient(), nullptr);
    EXPECT_EQ(plugin_->errors, 1);
    EXPECT_EQ(NumDevices(), 0);
    plugin_->creation_fails = false;
    ASSERT_NE(CreateClient(), nullptr);
    EXPECT_EQ(NumDevices(), 1);
  });
}

TEST_F(InstallationTest, StepsAsideForADeviceThatCannotMapMemory) {
  InOwnProcess([this] {
    script().virtual_memory = false;
    ASSERT_EQ(Install(), 0);
    ASSERT_NE(CreateClient(), nullptr);
    EXPECT_EQ(plugin_->options.count("allocator"), 0) << "XLA was told to use another allocator all the same";
    EXPECT_EQ(NumDevices(), 0);
    EXPECT_TRUE(StateHas("no virtual memory management")) << State();
  });
}

TEST_F(InstallationTest, StepsAsideForAnAllocatorThatTheHostAskedFor) {
  InOwnProcess([this] {
    ASSERT_EQ(Install(), 0);
    ASSERT_NE(CreateClient({Allocator("bfc")}), nullptr);
    EXPECT_EQ(plugin_->options["allocator"], "bfc");
    EXPECT_EQ(NumDevices(), 0);
    EXPECT_TRUE(StateHas("allocator=bfc")) << State();
  });
}

TEST_F(InstallationTest, StepsAsideWithoutADriver) {
  InOwnProcess([this] {
    GmlakeOptions options = Options();
    options.driver_path = "/no/such/libcuda.so.1";
    ASSERT_EQ(GmlakeGetApi()->install(kScriptedPluginPath, &options, message_, sizeof(message_)), 0);
    ASSERT_NE(CreateClient(), nullptr);
    EXPECT_TRUE(StateHas("no NVIDIA driver")) << State();
  });
}

TEST_F(InstallationTest, SaysSoIfXlaTookAnotherAllocator) {
  InOwnProcess([this] {
    plugin_->takes_another_allocator = true;
    ASSERT_EQ(Install(), 0);
    ASSERT_NE(CreateClient(), nullptr);
    EXPECT_EQ(NumDevices(), 0);
    EXPECT_TRUE(StateHas("xla_gpu_command_buffer_update_mode")) << State();
    EXPECT_EQ(plugin_->clients, 1);
    EXPECT_EQ(plugin_->options.count("allocator"), 0u) << "the client is not as its caller wanted it";
    EXPECT_EQ(plugin_->options.count("preallocate"), 0u);
  });
}

TEST_F(InstallationTest, AnswersForTheDevicesItServesAndLeavesTheOthers) {
  InOwnProcess([this] {
    ASSERT_EQ(Install(), 0);
    plugin_->takes_another_allocator = true;
    EXPECT_EQ(StatsOf(CreateClient()).bytes_in_use, -7);
    plugin_->takes_another_allocator = false;
    const PJRT_Device_MemoryStats_Args stats = StatsOf(CreateClient());
    EXPECT_EQ(stats.bytes_in_use, 0);
    EXPECT_TRUE(stats.bytes_limit_is_set);
    EXPECT_EQ(stats.bytes_limit, 768 << 20);
    EXPECT_TRUE(stats.peak_pool_bytes_is_set);
  });
}

TEST_F(InstallationTest, AnswersEvenIfTheStockPluginHasNoAnswer) {
  InOwnProcess([this] {
    ASSERT_EQ(Install(), 0);
    plugin_->knows_no_memory_stats = true;
    EXPECT_TRUE(StatsOf(CreateClient()).num_allocs_is_set);
    EXPECT_EQ(plugin_->errors, 0);
  });
}

TEST_F(InstallationTest, AnExhaustedDeviceTellsItsStoryInsideThePluginsError) {
  InOwnProcess([this] {
    ASSERT_EQ(Install(), 0);
    PJRT_Error* const error = AskForBytes(CreateClient(), int64_t{1} << 40);
    ASSERT_NE(error, nullptr);
    const std::string text = TextOf(error);
    EXPECT_EQ(text.rfind("RESOURCE_EXHAUSTED", 0), 0) << text;
    EXPECT_NE(text.find("\n[gmlake_jax] device 0: asked for 1.0 TiB"), std::string::npos) << text;
    EXPECT_EQ(MessageOf(error).message, MessageOf(error).message) << "the text must live as long as the error";
    EXPECT_EQ(TextOf(error), text);
    Destroy(error);
    EXPECT_EQ(plugin_->errors, 0);
  });
}

TEST_F(InstallationTest, OtherErrorsReadAsThePluginWroteThem) {
  InOwnProcess([this] {
    ASSERT_EQ(Install(), 0);
    PJRT_Client* const client = CreateClient();
    Destroy(AskForBytes(client, int64_t{1} << 40));
    plugin_->creation_fails = true;
    PJRT_Client_Create_Args args = {};
    args.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE;
    errors_.push_back(table_->PJRT_Client_Create(&args));
    EXPECT_EQ(TextOf(errors_.back()), "the client cannot be created");
  });
}

TEST_F(InstallationTest, ALastClientThatGoesTakesAllIdleMemoryWithIt) {
  InOwnProcess([this] {
    ASSERT_EQ(Install(), 0);
    for (int round = 0; round < 3; ++round) {
      PJRT_Client* const client = CreateClient();
      ASSERT_NE(client, nullptr);
      EXPECT_GT(seen().blocks, 0);
      DestroyClient(client);
      EXPECT_EQ(seen().blocks, 0);
      EXPECT_EQ(seen().contexts, 1);
    }
    EXPECT_EQ(plugin_->clients, 0);
    EXPECT_EQ(plugin_->errors, 0);
  });
}

TEST_F(InstallationTest, ATableOfAnotherMajorVersionIsLeftAlone) {
  InOwnProcess([this] {
    table_->pjrt_api_version.major_version = 1;
    const auto create = table_->PJRT_Client_Create;
    EXPECT_NE(Install(), 0);
    EXPECT_NE(std::string(message_).find("version 1."), std::string::npos) << message_;
    EXPECT_EQ(table_->PJRT_Client_Create, create);
    EXPECT_FALSE(GmlakeGetApi()->is_installed());
  });
}

TEST_F(InstallationTest, ATableThatEndsTooEarlyIsLeftAlone) {
  InOwnProcess([this] {
    table_->struct_size = offsetof(PJRT_Api, PJRT_Device_MemoryStats);
    EXPECT_NE(Install(), 0);
    EXPECT_NE(std::string(message_).find("too small"), std::string::npos) << message_;
  });
}

TEST_F(InstallationTest, WhatIsNoPluginIsNamed) {
  InOwnProcess([this] {
    EXPECT_NE(Install("/no/such/plugin.so"), 0);
    EXPECT_NE(std::string(message_).find("/no/such/plugin.so"), std::string::npos) << message_;
    EXPECT_NE(Install("cc/pjrt/testing/libsilent.so"), 0);
    EXPECT_NE(std::string(message_).find("no GetPjrtApi"), std::string::npos) << message_;
    EXPECT_EQ(Install(), 0) << "a refused attempt must not stand in the way of a good one: " << message_;
  });
}

TEST_F(InstallationTest, TheDoorRefusesDevicesThatAreNotServed) {
  InOwnProcess([this] {
    const GmlakeApi* api = GmlakeGetApi();
    AllocatorStats stats;
    EXPECT_EQ(api->stats(0, &stats), -1);
    ASSERT_EQ(Install(), 0);
    ASSERT_NE(CreateClient(), nullptr);
    EXPECT_EQ(api->stats(0, &stats), 0);
    EXPECT_EQ(api->stats(1, &stats), -1);
    EXPECT_EQ(api->trim(1, 0), -1);
    EXPECT_EQ(api->set_limit(1, 1 << 30, message_, sizeof(message_)), -1);
    EXPECT_STREQ(message_, "device 1 is not served");
    EXPECT_EQ(api->set_limit(0, 64 << 20, message_, sizeof(message_)), 0) << message_;
    EXPECT_EQ(api->stats(0, &stats), 0);
    EXPECT_EQ(stats.bytes_limit, MiB(64));
  });
}

TEST_F(InstallationTest, AMessageThatDoesNotFitIsCutAndEnded) {
  InOwnProcess([this] {
    const GmlakeOptions options = Options();
    char small[8];
    EXPECT_NE(GmlakeGetApi()->install("/no/such/plugin.so", &options, small, sizeof(small)), 0);
    EXPECT_EQ(std::string(small).size(), sizeof(small) - 1);
    EXPECT_NE(GmlakeGetApi()->install(nullptr, &options, nullptr, 0), 0);
  });
}

TEST_F(InstallationTest, TheProbeReportsEachDevice) {
  InOwnProcess([this] {
    script().num_devices = 2;
    char report[1024];
    EXPECT_EQ(GmlakeGetApi()->probe(kScriptedCudaPath, report, sizeof(report)), 0);
    EXPECT_NE(std::string(report).find("device 1: Scripted GPU, 1.0 GiB: can be served"), std::string::npos) << report;
    script().virtual_memory = false;
    EXPECT_NE(GmlakeGetApi()->probe(kScriptedCudaPath, report, sizeof(report)), 0);
    EXPECT_NE(std::string(report).find("cannot be served: device 0 has no virtual memory"), std::string::npos)
        << report;
    EXPECT_EQ(seen().contexts, 0);
  });
}

}  // namespace
}  // namespace gmlake
