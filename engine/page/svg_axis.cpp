#include "engine/page/svg_axis.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <spire/error.h>

namespace spire::inline page {
namespace {

constexpr std::array round_factors = {1.0, 2.0, 5.0};
constexpr double rounding = 1e-9;  // relative: sums of steps miss round values by less

// Tick number i of ..., 0.5, 1, 2, 5, 10, 20, ...; number 0 is 1.
double round_value(int i) {
  int decade = static_cast<int>(std::floor(i / 3.0));
  return round_factors[static_cast<size_t>(i - 3 * decade)] * std::pow(10.0, decade);
}

// Number of the largest tick at or below a positive value.
int tick_below(double value) {
  int i = 3 * static_cast<int>(std::floor(std::log10(value))) + 3;
  while (round_value(i) > value * (1 + rounding)) --i;
  return i;
}

}  // namespace

double ChartAxis::at(double value) const {
  value = std::clamp(value, low, high);
  double share =
      logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return from + share * (to - from);
}

ChartAxis linear_axis(double largest, double from, double to) {
  constexpr double most_steps = 8;
  if (!std::isfinite(largest) || largest <= 0) largest = 1;
  double step = round_value(tick_below(largest / most_steps) + 1);
  int steps = static_cast<int>(std::ceil(largest / step * (1 - rounding)));
  ChartAxis axis{.low = 0, .high = steps * step, .from = from, .to = to, .ticks = {}};
  for (int i = 0; i <= steps; ++i) axis.ticks.push_back(i * step);
  return axis;
}

ChartAxis range_axis(double smallest, double largest, double from, double to) {
  constexpr double most_steps = 7;
  if (!std::isfinite(smallest) || !std::isfinite(largest) || smallest > largest)
    return linear_axis(1, from, to);
  if (smallest >= 0 && smallest <= 0.25 * largest) return linear_axis(largest, from, to);
  double spread = largest - smallest;
  if (spread <= rounding * std::max(std::abs(smallest), std::abs(largest)))
    spread = std::max(std::abs(largest) / 10, 1e-9);
  double step = round_value(tick_below(spread / most_steps) + 1);
  double first = std::floor(smallest / step * (1 + (smallest < 0 ? -rounding : rounding)));
  double last =
      std::max(std::ceil(largest / step * (1 - (largest < 0 ? -rounding : rounding))), first + 1);
  ChartAxis axis{.low = first * step, .high = last * step, .from = from, .to = to, .ticks = {}};
  for (double i = first; i <= last; ++i) axis.ticks.push_back(i * step);
  return axis;
}

ChartAxis log_axis(double smallest, double largest, double from, double to) {
  constexpr int most_ticks = 8;
  require(smallest > 0 && smallest <= largest && std::isfinite(largest), "log_axis: from {} to {}",
          smallest, largest);
  int first = tick_below(smallest), last = tick_below(largest * (1 - 2 * rounding)) + 1;
  last = std::max(last, first + 1);
  ChartAxis axis{.low = round_value(first),
                 .high = round_value(last),
                 .from = from,
                 .to = to,
                 .logarithmic = true,
                 .ticks = {}};
  bool decades_alone = last - first + 1 > most_ticks;
  for (int i = first; i <= last; ++i)
    if (!decades_alone || i % 3 == 0) axis.ticks.push_back(round_value(i));
  return axis;
}

ChartAxis count_axis(const std::vector<int64_t>& counts, double from, double to) {
  require(!counts.empty(), "count_axis: no counts");
  std::vector<double> ticks(counts.begin(), counts.end());
  std::ranges::sort(ticks);
  ticks.erase(std::unique(ticks.begin(), ticks.end()), ticks.end());
  double margin = std::max(std::pow(ticks.back() / ticks.front(), 0.06), 1.1);
  if (ticks.size() == 1) margin = 2;
  return {.low = ticks.front() / margin,
          .high = ticks.back() * margin,
          .from = from,
          .to = to,
          .logarithmic = true,
          .ticks = std::move(ticks)};
}

}  // namespace spire::inline page
