#include "cc/core/mapping_row.h"

namespace gmlake {
namespace {

constexpr int64_t kRoomPerSize = 8;  // addresses reserved per byte mapped, so that a range can be extended

}  // namespace

StatusOr<Site> ReserveSite(Bytes size, Transaction* transaction) {
  for (Bytes reserved : {size * kRoomPerSize, size}) {
    StatusOr<Address> base = transaction->Reserve(reserved);
    if (base.ok()) return Site{*base, reserved};
    if (reserved == size) return base.status();
  }
  return Status(StatusCode::kInvalidArgument, "a stitch of nothing");
}

Status MapRow(Address at, const std::vector<RowMapping>& row, Transaction* transaction) {
  Address end = at;
  for (const RowMapping& mapping : row) {
    Status status = transaction->Map(end, mapping.size, mapping.handle);
    if (!status.ok()) return status;
    end = end + mapping.size;
  }
  return end == at ? OkStatus() : transaction->SetAccess(at, end - at);
}

}  // namespace gmlake
