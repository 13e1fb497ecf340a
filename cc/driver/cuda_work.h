// Work for a device, and the driver's own stream-ordered pool: what a benchmark needs to see our allocator at work
// beside the one that XLA's cuda_async uses. Not part of the product.
//
// Free of cuda.h, so that cc/bench may include it.
#ifndef GMLAKE_DRIVER_CUDA_WORK_H_
#define GMLAKE_DRIVER_CUDA_WORK_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/driver/driver.h"

namespace gmlake {

struct CudaFunctions;

// Model: one stream and one pool of the device whose context is current when it is opened. Thread rule: one thread.
class CudaWork {
 public:
  // `path`: the driver that `cuda` was loaded from. The pool holds at most `pool_limit` and, like XLA's, keeps what it
  // has. Makes the device's primary context current.
  static StatusOr<std::unique_ptr<CudaWork>> Open(const CudaFunctions& cuda, const std::string& path, int ordinal,
                                                  Bytes pool_limit);
  ~CudaWork();

  StreamHandle stream() const;

  // Writes `value` over every word; queued, not waited for.
  Status Fill(Address address, Bytes size, uint32_t value);
  // Waits, and reads the word at `address`.
  StatusOr<uint32_t> Read(Address address);
  Status Synchronize();

  StatusOr<Address> AllocateFromPool(Bytes size);
  Status FreeToPool(Address address);
  StatusOr<Bytes> PoolPeak();

 private:
  struct Functions;
  struct State;
  explicit CudaWork(std::unique_ptr<State> state);

  const std::unique_ptr<State> state_;
};

}  // namespace gmlake

#endif  // GMLAKE_DRIVER_CUDA_WORK_H_
