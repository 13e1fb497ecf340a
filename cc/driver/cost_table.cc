#include "cc/driver/cost_table.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace gmlake {
namespace {

struct Row {
  double mib;
  double cost[5];  // by DriverCall: create, map, set access, unmap, release
};

// Microseconds per physical block, over 4 GiB. The unmap of 2 MiB is the middle of 24.6 and 26.8.
constexpr Row kMeasured[] = {
    {2, {15.7, 1.4, 36.6, 25.7, 17.6}},  //
    {8, {14.5, 1.3, 35.1, 25, 23}},      //
    {32, {16.4, 1.1, 34.0, 22, 40}},     //
    {64, {17.6, 1.1, 36.8, 22, 71}},     //
    {128, {19.5, 1.8, 38.4, 21, 118}},   //
    {512, {38.2, 1.6, 61.4, 27, 367}},   //
    {4096, {422, 4.9, 224, 63, 2130}},
};
constexpr size_t kRows = std::size(kMeasured);

// The row that starts the segment which `mib` lies in, or which continues to it.
size_t Segment(double mib) {
  size_t row = 0;
  while (row + 2 < kRows && kMeasured[row + 1].mib < mib) ++row;
  return row;
}

struct ReserveRow {
  double live;
  double cost;
};

constexpr ReserveRow kMeasuredReserve[] = {{100, 6}, {1000, 10}, {10000, 66}, {60000, 294}};

}  // namespace

// Constant below the least measured number; above the largest it continues with the last slope.
double ReserveCost(int64_t live) {
  const double number = std::max(static_cast<double>(live), kMeasuredReserve[0].live);
  size_t row = 0;
  while (row + 2 < std::size(kMeasuredReserve) && kMeasuredReserve[row + 1].live < number) ++row;
  const ReserveRow& low = kMeasuredReserve[row];
  const ReserveRow& high = kMeasuredReserve[row + 1];
  return low.cost + (high.cost - low.cost) / (high.live - low.live) * (number - low.live);
}

double CostPerBlock(DriverCall call, Bytes size) {
  const double mib = static_cast<double>(size.count()) / (1 << 20);
  const int column = static_cast<int>(call);
  if (mib <= kMeasured[0].mib) return kMeasured[0].cost[column];
  const Row& low = kMeasured[Segment(mib)];
  const Row& high = kMeasured[Segment(mib) + 1];
  const double slope = (high.cost[column] - low.cost[column]) / (high.mib - low.mib);
  return low.cost[column] + slope * (mib - low.mib);
}

}  // namespace gmlake
