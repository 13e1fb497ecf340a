// The one function of tsl::Allocator that its header declares and does not define. Defining it here is what lets the
// library stand alone: no other object of XLA or TensorFlow is linked.
#include "xla/tsl/framework/allocator.h"

namespace tsl {

Allocator::~Allocator() = default;

}  // namespace tsl
