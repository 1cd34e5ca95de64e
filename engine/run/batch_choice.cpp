#include "engine/run/batch_choice.h"

#include <algorithm>

#include <fmt/format.h>

namespace spire {
namespace {

// 1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, ...: quarters of powers of two.
std::vector<int64_t> sizes_up_to(int64_t largest) {
  std::vector<int64_t> sizes;
  for (int64_t power = 1; power <= largest; power *= 2) {
    int64_t step = std::max<int64_t>(8, power / 4);
    for (int64_t size = power; size < 2 * power && size <= largest; size += step)
      sizes.push_back(size);
  }
  return sizes;
}

std::vector<BatchShape> divisors(const BatchRequest& request, bool evenly) {
  std::vector<BatchShape> shapes;
  for (int64_t size = 1; size <= request.largest(); ++size) {
    int64_t towers = *request.global_batch / size;
    if (*request.global_batch % size != 0 || towers < request.devices) continue;
    if (!evenly || towers % request.devices == 0) shapes.push_back({size, towers});
  }
  return shapes;
}

}  // namespace

int64_t BatchRequest::largest() const {
  constexpr int64_t any = int64_t{1} << 20;
  int64_t cap = on_cpus ? largest_cpu_batch : any;
  if (global_batch) return std::min(cap, *global_batch);
  int64_t share = samples / towers.value_or(devices);
  int64_t of_data = std::max(std::min(share, smallest_batch), share / fewest_steps);
  return std::max<int64_t>(1, std::min(cap, of_data));
}

std::string BatchRequest::why_largest() const {
  if (on_cpus && largest() == largest_cpu_batch)
    return fmt::format("auto takes at most {} on CPUs", largest_cpu_batch);
  if (global_batch) return "each device has at least one tower of the global batch";
  return fmt::format("larger ones leave fewer than {} steps of an epoch of {} samples",
                     fewest_steps, samples);
}

std::vector<BatchShape> batch_shapes(const BatchRequest& request) {
  if (request.global_batch) {
    std::vector<BatchShape> shapes = divisors(request, true);
    return shapes.empty() ? divisors(request, false) : shapes;
  }
  std::vector<BatchShape> shapes;
  for (int64_t size : sizes_up_to(request.largest()))
    shapes.push_back({size, request.towers.value_or(request.devices)});
  return shapes;
}

// The last comes first: a small model fits as it is.
size_t last_fitting(const std::vector<BatchShape>& shapes,
                    const std::function<bool(const BatchShape&)>& fits) {
  bool equal_towers = shapes.front().towers == shapes.back().towers;
  size_t low = 0, high = shapes.size() - 1;  // all below `low` are taken to fit
  if (high == 0 || fits(shapes[high])) return high;
  while (high - low > 1) {
    size_t next = equal_towers ? low + (high - low) / 2 : high - 1;
    bool fitting = fits(shapes[next]);
    if (fitting && !equal_towers) return next;
    (fitting ? low : high) = next;
  }
  return low;
}

}  // namespace spire
