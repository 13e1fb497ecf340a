#include "cc/core/mapping_row.h"

namespace gmlake {

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
