#include "engine/config/memory_limit.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <spire/error.h>

#include "engine/config/scalar.h"

namespace spire {
namespace {

// Case counts, as in the units of SI and IEC 80000-13: kB is 1000 bytes, KiB 1024.
constexpr std::array<std::pair<std::string_view, double>, 9> units = {{
    {"KiB", 0x1p10},
    {"MiB", 0x1p20},
    {"GiB", 0x1p30},
    {"TiB", 0x1p40},
    {"kB", 1e3},
    {"MB", 1e6},
    {"GB", 1e9},
    {"TB", 1e12},
    {"B", 1},
}};

constexpr std::string_view memory_forms =
    "write auto, a fraction of the device's memory (0.8), or bytes with their unit (20GiB, 512MiB)";

MemoryLimit fraction_of(std::string_view text) {
  double fraction = parse_number(text);
  if (fraction > 0 && fraction <= 1) return {fraction, {}};
  fail(Category::config, "{} has no unit of bytes and is not a fraction above 0 and up to 1; {}",
       excerpt(text), memory_forms);
}

// The upper bound keeps the conversion to size_t defined.
size_t bytes_of(std::string_view text, double number, double unit) {
  double bytes = std::floor(number * unit);
  if (bytes < 1 || bytes > 0x1p62)
    fail(Category::config, "{} is not a possible amount of memory; {}", excerpt(text),
         memory_forms);
  return static_cast<size_t>(bytes);
}

}  // namespace

std::optional<size_t> MemoryLimit::share(size_t total, size_t sharers) const {
  if (bytes) return *bytes / sharers;
  if (!fraction) return std::nullopt;
  return static_cast<size_t>(*fraction * static_cast<double>(total)) / sharers;
}

// A number with a unit is bytes; a number alone is a fraction, so that "20" is refused and not read
// as 20 bytes.
MemoryLimit parse_memory_limit(std::string_view text) {
  if (text == "auto") return {};
  size_t number_end = text.find_last_of("0123456789.") + 1;
  std::string_view number = text.substr(0, number_end), unit = text.substr(number_end);
  if (number_end == 0 || number.find_first_not_of("0123456789.") != number.npos)
    fail(Category::config, "'{}' is not an amount of memory; {}", excerpt(text), memory_forms);
  if (unit.empty()) return fraction_of(number);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, size] : units) {
    if (unit == name) return {{}, bytes_of(text, parse_number(number), size)};
  }
  fail(Category::config,
       "'{}' does not end in a unit of bytes (KiB, MiB, GiB, TiB, kB, MB, GB, TB or B); {}",
       excerpt(text), memory_forms);
}

}  // namespace spire
