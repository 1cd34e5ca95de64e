// Ranks and their failures, as tests of the watchdog name them.
#pragma once
#include <fmt/format.h>

#include "engine/process/watchdog/watchdog.h"

namespace spire {

const TimeoutConfig test_limits{.start = 30, .step = 10, .checkpoint = 60};

inline std::string name_of(int rank) {
  return fmt::format("rank {} (host a, pid {})", rank, 40 + rank);
}

inline Failure named(int rank, const std::string& text, bool consequence = false) {
  Failure failure;
  failure.category = consequence ? Category::collective : Category::data;
  failure.rank = rank;
  failure.text = text;
  failure.consequence = consequence;
  return failure;
}

}  // namespace spire
