// The options of a host that loads this library as a plain PJRT plugin, read from the environment: the variables of
// gmlake_jax/config.py, and those of XLA that mean the same, by the same rules.
//
// The only file of the C++ that reads environment variables.
#ifndef GMLAKE_PJRT_INSTALL_ENVIRONMENT_H_
#define GMLAKE_PJRT_INSTALL_ENVIRONMENT_H_

#include <string>

#include "cc/base/status.h"
#include "cc/pjrt/devices/options.h"

namespace gmlake {

// kInvalidArgument, with one line that names the variable, for a value that cannot be followed and for a GMLAKE_
// variable that nobody knows. Precedence: GMLAKE_*, XLA_*, default.
StatusOr<Options> OptionsFromEnvironment();
// Whether GMLAKE says no: the host gets the stock plugin, and nobody need be told.
bool IsSwitchedOff();
// Why the allocator cannot do what other variables ask for; empty where it can.
std::string ReasonToStepAside();
// GMLAKE_STOCK_PLUGIN; empty where it is not set.
std::string StockPluginFromEnvironment();

}  // namespace gmlake

#endif  // GMLAKE_PJRT_INSTALL_ENVIRONMENT_H_
