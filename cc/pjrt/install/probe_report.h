// Answers `gmlake doctor`: can every device of this process be served? It asks the driver alone, without JAX.
#ifndef GMLAKE_PJRT_INSTALL_PROBE_REPORT_H_
#define GMLAKE_PJRT_INSTALL_PROBE_REPORT_H_

#include <string>

namespace gmlake {

struct ProbeReport {
  bool all_served = false;
  std::string text;  // one line about the driver, one for each device
};

// Tries two granules on each device. Makes each device's context for a moment.
ProbeReport ProbeDevices(const std::string& driver_path);

}  // namespace gmlake

#endif  // GMLAKE_PJRT_INSTALL_PROBE_REPORT_H_
