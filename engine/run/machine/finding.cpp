#include "engine/run/machine/finding.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sys/resource.h>

#include <fmt/format.h>

#include "engine/observe/formatting.h"

namespace spire {

std::string_view to_string(FindingLevel level) {
  constexpr std::array<std::string_view, 3> words = {"ok", "warn", "fail"};
  return words.at(static_cast<size_t>(level));
}

Finding warning(Finding finding, std::string remedy) {
  finding.level = FindingLevel::warn;
  finding.remedy = std::move(remedy);
  return finding;
}

FindingLevel worst(const Findings& findings) {
  FindingLevel level = FindingLevel::ok;
  for (const Finding& finding : findings) level = std::max(level, finding.level);
  return level;
}

void append(Findings& findings, Findings more) {
  std::move(more.begin(), more.end(), std::back_inserter(findings));
}

std::string limit_text(uint64_t bytes) {
  return bytes == RLIM_INFINITY ? "unlimited" : bytes_text(bytes);
}

std::string rate_text(double bytes_per_s) {
  return bytes_per_s < 1e9 ? fmt::format("{:.0f} MB/s", bytes_per_s / 1e6)
                           : fmt::format("{:.1f} GB/s", bytes_per_s / 1e9);
}

}  // namespace spire
