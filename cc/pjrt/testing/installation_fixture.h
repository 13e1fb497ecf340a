// A fixture for tests of the whole library. A scripted plugin and driver stand in for those of jaxlib and NVIDIA. An
// installation lasts for the life of a process, so each test body runs in its own process.
#ifndef GMLAKE_PJRT_TESTING_INSTALLATION_FIXTURE_H_
#define GMLAKE_PJRT_TESTING_INSTALLATION_FIXTURE_H_

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cc/driver/testing/scripted_cuda_fixture.h"
#include "cc/pjrt/abi/c_api.h"
#include "cc/pjrt/testing/scripted_plugin.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace gmlake {

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

  int Install(const char* path = kScriptedPluginPath) {
    const GmlakeOption driver = {"driver", kScriptedCudaPath};
    return GmlakeGetApi()->install(path, &driver, 1, message_, sizeof(message_));
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

  PJRT_Error* AskForBytes(PJRT_Client* client, int64_t count, PJRT_Buffer** buffer = nullptr) {
    PJRT_Client_AddressableDevices_Args devices = {};
    devices.client = client;
    table_->PJRT_Client_AddressableDevices(&devices);
    PJRT_Client_BufferFromHostBuffer_Args args = {};
    args.struct_size = PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE;
    args.client = client;
    args.device = devices.addressable_devices[0];
    args.dims = &count;
    args.num_dims = 1;
    PJRT_Error* const error = table_->PJRT_Client_BufferFromHostBuffer(&args);
    if (buffer != nullptr) *buffer = args.buffer;
    return error;
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

  // But the one that was made when we were installed, for a host without memory for another.
  int LiveErrors() const { return plugin_->errors - 1; }

  std::string State() { return GmlakeGetApi()->state(); }
  bool StateHas(const std::string& text) { return State().find(text) != std::string::npos; }
  int NumDevices() { return GmlakeGetApi()->num_devices(); }

  ScriptedPlugin* plugin_ = nullptr;
  PJRT_Api* table_ = nullptr;
  char message_[512] = "";
  std::set<PJRT_Client*> clients_;
  std::vector<PJRT_Error*> errors_;
};

}  // namespace gmlake

#endif  // GMLAKE_PJRT_TESTING_INSTALLATION_FIXTURE_H_
