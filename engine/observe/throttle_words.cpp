#include "engine/observe/throttle_words.h"

#include <algorithm>
#include <array>

namespace spire {

// Left out are a GPU without work ("idle"), clocks that somebody has set, and limits of the board's
// kind: they say nothing about a fault.
const ThrottleWords* throttle_words(std::string_view reason) {
  constexpr std::string_view cooling = "improve its cooling";
  static constexpr std::array words = {
      ThrottleWords{"heat", "throttled by heat", cooling},
      ThrottleWords{"heat (hardware)", "throttled by heat", cooling},
      ThrottleWords{"hardware slowdown", "slowed by its board",
                    "check its cooling and power supply"},
      ThrottleWords{"power brake", "slowed by the power brake", "check the power supply"},
      ThrottleWords{"power cap", "held at its power limit",
                    "nvidia-smi -pl raises it as far as the board allows"}};
  auto found = std::ranges::find(words, reason, &ThrottleWords::reason);
  return found == words.end() ? nullptr : &*found;
}

}  // namespace spire
