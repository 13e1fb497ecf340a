// CUDA does not survive fork(): a child that uses its parent's device memory gets errors at best. The child must know
// that it is one before it takes a lock that another thread of the parent may have held.
#ifndef GMLAKE_PJRT_PATCH_FORK_GUARD_H_
#define GMLAKE_PJRT_PATCH_FORK_GUARD_H_

namespace gmlake {

// From now on InForkedChild tells a child of this process; call it before the first use of the device.
void WatchForks();

// One load; true in every process forked after WatchForks.
bool InForkedChild();

}  // namespace gmlake

#endif  // GMLAKE_PJRT_PATCH_FORK_GUARD_H_
