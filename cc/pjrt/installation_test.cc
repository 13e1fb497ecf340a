// From the C API to the stock plugin and back.
#include "cc/pjrt/install/installation.h"

#include "cc/pjrt/testing/installation_fixture.h"

namespace gmlake {
namespace {

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
    EXPECT_EQ(LiveErrors(), 1);
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

TEST_F(InstallationTest, TheFractionThatAClientAsksForIsTheLimit) {
  InOwnProcess([this] {
    PJRT_NamedValue fraction = Allocator("");
    fraction.name = "memory_fraction";
    fraction.name_size = 15;
    fraction.type = PJRT_NamedValue_kFloat;
    fraction.float_value = 0.25;
    ASSERT_EQ(Install(), 0);
    EXPECT_EQ(StatsOf(CreateClient({fraction})).bytes_limit, 256 << 20);
  });
}

TEST_F(InstallationTest, AFractionAboveTheDeviceIsUnifiedMemoryAndIsLeftToXla) {
  InOwnProcess([this] {
    PJRT_NamedValue fraction = Allocator("");
    fraction.name = "memory_fraction";
    fraction.name_size = 15;
    fraction.type = PJRT_NamedValue_kFloat;
    fraction.float_value = 1.5;
    ASSERT_EQ(Install(), 0);
    ASSERT_NE(CreateClient({fraction}), nullptr);
    EXPECT_EQ(NumDevices(), 0);
    EXPECT_TRUE(StateHas("a fraction above 0 and up to 1")) << State();
  });
}

TEST_F(InstallationTest, StepsAsideWithoutADriver) {
  InOwnProcess([this] {
    const GmlakeOption driver = {"driver", "/no/such/libcuda.so.1"};
    ASSERT_EQ(GmlakeGetApi()->install(kScriptedPluginPath, &driver, 1, message_, sizeof(message_)), 0);
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
    EXPECT_EQ(LiveErrors(), 0);
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
    EXPECT_EQ(LiveErrors(), 0);
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
    EXPECT_EQ(LiveErrors(), 0);
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
    EXPECT_STREQ(message_, "gmlake_jax serves no device 1 in this process");
    EXPECT_EQ(api->set_limit(0, 64 << 20, message_, sizeof(message_)), 0) << message_;
    EXPECT_EQ(api->stats(0, &stats), 0);
    EXPECT_EQ(stats.bytes_limit, MiB(64));
  });
}

TEST_F(InstallationTest, AMessageThatDoesNotFitIsCutAndEnded) {
  InOwnProcess([this] {
    char small[8];
    EXPECT_NE(GmlakeGetApi()->install("/no/such/plugin.so", nullptr, 0, small, sizeof(small)), 0);
    EXPECT_EQ(std::string(small).size(), sizeof(small) - 1);
    EXPECT_NE(GmlakeGetApi()->install(nullptr, nullptr, 0, nullptr, 0), 0);
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
