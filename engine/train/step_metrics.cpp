#include "engine/train/step_metrics.h"

#include <algorithm>
#include <cmath>

#include "engine/observe/step_times.h"

namespace spire::inline training {

void StepMetrics::allocate(DeviceSet& devices, std::span<double> device_squares) {
  const Placement& placement = devices.placement();
  auto towers = static_cast<size_t>(placement.towers), ranks = static_cast<size_t>(devices.ranks());
  size_t entries = 2 * towers + ranks, chunks = device_squares.size();
  memory = allocate_staging(placement.lanes[0].device, (entries + chunks) * sizeof(double));
  auto* at = memory->as<double>();
  shared = {at, entries};
  sums = {shared.first(towers), shared.subspan(towers, towers)};
  stops = shared.subspan(2 * towers);
  // One allocation, so that all entries of `shared` are neighbours.
  squares = devices.on_gpus() ? std::span<double>(at + entries, chunks) : device_squares;
  for (int lane = 0; lane < devices.lanes(); ++lane) {
    Stream& stream = devices.stream(lane);
    towers_done.push_back(stream.make_event());
    step_done.push_back(stream.make_event());
    clocks.emplace_back(stream, placement.lane_towers[static_cast<size_t>(lane)].size());
  }
}

// Sums over fixed chunks in a fixed order: the same whoever computed which.
double StepMetrics::gradient_norm() const {
  double sum = 0;
  for (double part : squares) sum += part;
  return std::sqrt(sum);
}

bool StepMetrics::any_stop() const {
  return std::any_of(stops.begin(), stops.end(), [](double stop) { return stop != 0; });
}

StepTimes StepMetrics::times() const {
  StepTimes sum;
  for (const LaneClock& clock : clocks) sum += clock.times();
  return sum * (1.0 / static_cast<double>(clocks.size()));
}

std::vector<int> StepMetrics::owners(const Placement& placement) {
  std::vector<int> towers(static_cast<size_t>(placement.towers));
  for (const auto& device : placement.devices) {
    std::fill(towers.begin() + device.towers.begin, towers.begin() + device.towers.end,
              device.rank);
  }
  std::vector<int> all = towers;  // of losses, then of scores
  all.insert(all.end(), towers.begin(), towers.end());
  for (int rank = 0; rank < placement.ranks; ++rank) all.push_back(rank);
  return all;
}

}  // namespace spire::inline training
