// GetPjrtApi: any PJRT host can load this library as its CUDA plugin. It gets the stock plugin's table, with us
// installed in it where that is possible, and untouched with one line on stderr where it is not.
#include <cstdio>
#include <string>

#include "cc/pjrt/install/environment.h"
#include "cc/pjrt/install/installation.h"
#include "cc/pjrt/patch/exception_barrier.h"
#include "cc/pjrt/plugin/stock_plugin.h"

namespace {

using gmlake::Status;
using gmlake::StatusOr;

StatusOr<std::string> FindStockPlugin() {
  std::string path = gmlake::StockPluginFromEnvironment();
  if (path.empty()) path = gmlake::StockPluginBesideUs();
  if (!path.empty()) return path;
  return Status(gmlake::StatusCode::kNotSupported,
                "no xla_cuda_plugin.so beside libgmlake_pjrt.so; name it in GMLAKE_STOCK_PLUGIN");
}

Status InstallFromEnvironment(const std::string& path) {
  const std::string reason = gmlake::ReasonToStepAside();
  if (!reason.empty()) return Status(gmlake::StatusCode::kNotSupported, reason);
  GMLAKE_ASSIGN_OR_RETURN(const gmlake::Options options, gmlake::OptionsFromEnvironment());
  return gmlake::Installation::Instance().Install(path, options);
}

const PJRT_Api* StockTable(const std::string& path) {
  const StatusOr<gmlake::StockPlugin> plugin = gmlake::OpenStockPlugin(path);
  if (plugin.ok()) return plugin->api;
  std::fprintf(stderr, "gmlake_jax: %s\n", plugin.status().message().c_str());
  return nullptr;
}

const PJRT_Api* TableFor(const std::string& path) {
  gmlake::Installation& installation = gmlake::Installation::Instance();
  if (gmlake::IsSwitchedOff()) return StockTable(path);
  const Status installed = InstallFromEnvironment(path);
  if (installed.ok()) return installation.table();
  installation.activity().StepAside(installed.message());
  return StockTable(path);
}

const PJRT_Api* Table() {
  gmlake::Installation& installation = gmlake::Installation::Instance();
  if (installation.is_installed()) return installation.table();
  const StatusOr<std::string> path = FindStockPlugin();
  if (path.ok()) return TableFor(*path);
  std::fprintf(stderr, "gmlake_jax: %s\n", path.status().message().c_str());
  return nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  return gmlake::ExceptionBarrier<&Table, gmlake::AnswerAsCApi>::Call();
}
