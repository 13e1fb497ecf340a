// Why a request could not be met, in one line for the error message: what was asked for, what there is, and who has it.
#ifndef GMLAKE_REPORT_SHORTAGE_H_
#define GMLAKE_REPORT_SHORTAGE_H_

#include <string>

#include "cc/base/bytes.h"
#include "cc/telemetry/stats.h"

namespace gmlake {

// `stats` as they were when `asked` was refused on device `ordinal`.
std::string DescribeShortage(int ordinal, Bytes asked, const AllocatorStats& stats);

}  // namespace gmlake

#endif  // GMLAKE_REPORT_SHORTAGE_H_
