// Copies between a device and host memory, for a device whose memory is given away for a while.
//
// Beside driver.h and not in it: serving requests never copies. CUDA's form is cuda_host_copier.h; tests of the core
// have one that knows what it copied.
#ifndef GMLAKE_DRIVER_HOST_COPIER_H_
#define GMLAKE_DRIVER_HOST_COPIER_H_

#include "cc/base/bytes.h"
#include "cc/base/status.h"

namespace gmlake {

// One device. Thread rule: host memory may be made by several threads at once; everything else is for one thread at a
// time. Cost: copies run at the speed of the link to the host if they are large and several are queued.
class HostCopier {
 public:
  virtual ~HostCopier() = default;

  // Before host memory is made. Cheap when it was called before.
  virtual Status Open() = 0;

  // Host memory that the device can reach at the full speed of the link (page-locked).
  virtual StatusOr<char*> AllocateHost(Bytes size) = 0;
  virtual void FreeHost(char* memory, Bytes size) = 0;
  // What could be allocated now without driving the machine out of memory.
  virtual Bytes AvailableHost() = 0;

  // Queued one after the other; done after Finish.
  virtual Status ToHost(char* to, Address from, Bytes size) = 0;
  virtual Status ToDevice(Address to, const char* from, Bytes size) = 0;
  virtual Status Zero(Address to, Bytes size) = 0;
  virtual Status Finish() = 0;

  // Waits until the device is done with everything that anybody in this process has queued. Fails during a capture.
  virtual Status AwaitDevice() = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_HOST_COPIER_H_
