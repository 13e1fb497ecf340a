// A mutex whose rules Clang checks: which data it guards, and which functions need it.
//
// Clang's thread safety analysis reads the annotations (tests/unit/test_thread_annotations.py runs it). Other compilers
// see an ordinary std::mutex. Names and meaning are Clang's: https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#ifndef GMLAKE_BASE_MUTEX_H_
#define GMLAKE_BASE_MUTEX_H_

#include <mutex>

#if defined(__clang__)
#define GMLAKE_THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define GMLAKE_THREAD_ANNOTATION(attribute)
#endif

// On data: it is read and written with the mutex held.
#define GMLAKE_GUARDED_BY(mutex) GMLAKE_THREAD_ANNOTATION(guarded_by(mutex))
// On a function: its caller holds the mutex, and still does afterwards.
#define GMLAKE_REQUIRES(...) GMLAKE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
// On a function: it takes the mutex, or releases it.
#define GMLAKE_ACQUIRE(...) GMLAKE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define GMLAKE_RELEASE(...) GMLAKE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))

namespace gmlake {

// Meets the standard library's Lockable, so std::condition_variable_any can wait with it.
class GMLAKE_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() GMLAKE_ACQUIRE() { mutex_.lock(); }
  void unlock() GMLAKE_RELEASE() { mutex_.unlock(); }
  bool try_lock() GMLAKE_THREAD_ANNOTATION(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

// Holds a mutex for a scope.
class GMLAKE_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) GMLAKE_ACQUIRE(mutex) : mutex_(mutex) { mutex_->lock(); }
  ~MutexLock() GMLAKE_RELEASE() { mutex_->unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

// Releases a mutex for a scope, for a wait inside a function that needs it, and takes it again at the end.
class GMLAKE_THREAD_ANNOTATION(scoped_lockable) MutexUnlock {
 public:
  explicit MutexUnlock(Mutex* mutex) GMLAKE_RELEASE(mutex) : mutex_(mutex) { mutex_->unlock(); }
  ~MutexUnlock() GMLAKE_RELEASE() { mutex_->lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex* const mutex_;
};

}  // namespace gmlake

#endif  // GMLAKE_BASE_MUTEX_H_
