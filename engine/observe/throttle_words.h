// How sentences say why a GPU's clock is low, and what to do about it.
#pragma once
#include <string_view>

namespace spire {

// What lowers a clock though it should not: "heat" -> how a sentence says it, and what to do.
struct ThrottleWords {
  std::string_view reason;  // in DeviceReport::throttle_reasons
  std::string_view text;    // "throttled by heat"
  std::string_view remedy;
};
const ThrottleWords* throttle_words(std::string_view reason);  // null: nothing to mention

}  // namespace spire
