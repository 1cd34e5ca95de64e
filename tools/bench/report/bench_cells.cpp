#include "tools/bench/report/bench_cells.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "engine/observe/formatting.h"

namespace spire {
namespace {

constexpr double largest_count = 1e15;  // written with all digits

}  // namespace

std::string figure_text(double value) {
  if (!std::isfinite(value)) return "-";
  double size = std::abs(value);
  if (size >= largest_count) return fmt::format("{:.3e}", value);
  if (size >= 999.95) return count_text(std::llround(value));
  if (size >= 99.995) return fmt::format("{:.1f}", value);
  if (size >= 9.9995) return fmt::format("{:.2f}", value);
  if (size >= 0.09995) return fmt::format("{:.3f}", value);
  return fmt::format("{:.3g}", value);
}

std::string ms_text(double seconds) {
  return figure_text(1000 * seconds);
}

std::string scaled_text(double per_s) {
  constexpr std::array units = {"", " K", " M", " G", " T", " P"};
  size_t unit = 0;
  for (; std::abs(per_s) >= 1000 && unit + 1 < units.size(); ++unit) per_s /= 1000;
  return figure_text(per_s) + units[unit];
}

std::string share_text(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f}%", 100 * share) : "-";
}

std::string range_text(double low, double high) {
  return fmt::format("{} to {}", figure_text(low), figure_text(high));
}

}  // namespace spire
