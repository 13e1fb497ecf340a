// Blocks side by side at other addresses: the driver's part of a stitch, the same whether a request waits for it or
// not.
//
// It knows nothing of tables; what is to be mapped was decided before, and what becomes of it is its caller's business.
#ifndef GMLAKE_CORE_MAPPING_ROW_H_
#define GMLAKE_CORE_MAPPING_ROW_H_

#include <vector>

#include "cc/base/bytes.h"
#include "cc/base/status.h"
#include "cc/driver/transaction.h"

namespace gmlake {

struct RowMapping {
  BlockHandle handle;
  Bytes size;
};

// Addresses to map at, and how many there are from the range's base on.
struct Site {
  Address at;
  Bytes reserved;
};

// One after the other from `at` on, and opened by one call.
Status MapRow(Address at, const std::vector<RowMapping>& row, Transaction* transaction);

}  // namespace gmlake

#endif  // GMLAKE_CORE_MAPPING_ROW_H_
