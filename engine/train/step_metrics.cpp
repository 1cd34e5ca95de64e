#include "engine/train/step_metrics.h"

#include <algorithm>
#include <cmath>

#include "engine/observe/records.h"
#include "engine/train/monitor/device_numbers.h"

namespace spire {

void StepMetrics::allocate(DeviceSet& set, std::span<double> device_squares) {
  const Placement& placement = set.placement();
  auto towers = static_cast<size_t>(placement.towers), ranks = static_cast<size_t>(set.ranks());
  size_t numbers = placement.devices.size() * device_numbers;
  // One allocation, so that all entries of `shared` are neighbours.
  size_t entries = 2 * towers + ranks + numbers, chunks = device_squares.size();
  memory = allocate_staging(placement.lanes[0].device, (entries + chunks) * sizeof(double));
  auto* at = memory->as<double>();
  shared = {at, entries};
  sums = {shared.first(towers), shared.subspan(towers, towers)};
  stops = shared.subspan(2 * towers, ranks);
  devices = shared.last(numbers);
  std::ranges::fill(devices, unknown_number);
  squares = set.on_gpus() ? std::span<double>(at + entries, chunks) : device_squares;
  for (int lane = 0; lane < set.lanes(); ++lane) {
    Stream& stream = set.stream(lane);
    towers_done.push_back(stream.make_event(Timing::on));
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
  StepTimes mean = sum * (1.0 / static_cast<double>(clocks.size()));
  // A lane that is alone enters no `reduce` behind its towers.
  double& before_update = mean.reduce > 0 ? mean.reduce : mean.backward;
  before_update = std::max(0.0, before_update - judging);
  return mean;
}

void StepMetrics::cut_wait(const StepMetrics& before) {
  double idle = 0;
  for (size_t lane = 0; lane < clocks.size(); ++lane)
    idle += clocks[lane].seconds_since_end_of(before.clocks[lane]);
  waited = std::clamp(waited, 0.0, std::max(0.0, idle / static_cast<double>(clocks.size())));
}

double StepMetrics::arrival_ms(const PlacedDevice& device) const {
  double last = 0;
  for (int l = device.first_lane; l < device.first_lane + device.lanes; ++l) {
    auto lane = static_cast<size_t>(l);
    last = std::max(last, clocks[lane].seconds_until(*towers_done[lane]));
  }
  return 1e3 * last;
}

double StepMetrics::lane_wait_ms(const PlacedDevice& device) const {
  double sum = 0;
  for (int l = device.first_lane; l < device.first_lane + device.lanes; ++l) {
    auto lane = static_cast<size_t>(l);
    sum += clocks[lane].seconds_until(*towers_done[lane]);
  }
  return arrival_ms(device) - 1e3 * sum / std::max(device.lanes, 1);
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
  for (const auto& device : placement.devices) all.insert(all.end(), device_numbers, device.rank);
  return all;
}

}  // namespace spire
