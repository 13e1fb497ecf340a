// How much of an emulated device other processes hold, where several of them share it: a file in which each counts its
// bytes.
//
// Only the counts are shared, which is all that one process can see of another's memory.
#ifndef GMLAKE_EMULATOR_MEMORY_SHARED_USE_H_
#define GMLAKE_EMULATOR_MEMORY_SHARED_USE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace gmlake::emulator {

// Model: a row for each process, in a file that stays. What a process that has ended held is free. Thread rule: the
// machine's lock; between processes, a lock on the file, which the kernel takes from a process that ends. Cost: three
// system calls.
class SharedUse {
 public:
  // Ends the process if the file cannot be used: a test would lie.
  SharedUse(const std::string& path, int device);
  ~SharedUse();
  SharedUse(const SharedUse&) = delete;
  SharedUse& operator=(const SharedUse&) = delete;

  // Adds `size` to what this process holds, unless all processes would hold more than `total` then.
  bool Take(size_t size, size_t total);
  void Give(size_t size);
  // Of all processes.
  size_t used();

 private:
  static constexpr int kRows = 32;
  static constexpr int kDevices = 16;
  struct Row {
    pid_t process;
    uint64_t bytes;
  };
  struct Table {
    Row rows[kRows];
  };

  size_t SumOfTheLiving();
  Row* Mine();

  int file_ = -1;
  Table* table_ = nullptr;
};

}  // namespace gmlake::emulator

#endif  // GMLAKE_EMULATOR_MEMORY_SHARED_USE_H_
