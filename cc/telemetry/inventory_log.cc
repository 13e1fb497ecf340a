#include "cc/telemetry/inventory_log.h"

namespace gmlake {

void InventoryLog::Settle() const {
  for (const Call& call : calls_) Enter(call);
  calls_.clear();
}

void InventoryLog::Enter(const Call& call) const {
  switch (call.kind) {
    case Kind::kCreate: return inventory_.OnCreate(call.handle, call.size);
    case Kind::kRelease: return inventory_.OnRelease(call.handle);
    case Kind::kReserve: return inventory_.OnReserve(call.address, call.size);
    case Kind::kFreeAddress: return inventory_.OnFreeAddress(call.address, call.size);
    case Kind::kMap: return inventory_.OnMap(call.address, call.size, call.handle);
    case Kind::kUnmap: return inventory_.OnUnmap(call.address, call.size);
  }
}

}  // namespace gmlake
