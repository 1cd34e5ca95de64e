// Tests that try many cases try some of them by default, and all where SPIRE_TESTS=long is set,
// as tools/nightly.sh does.
#pragma once
#include <cstdlib>
#include <string_view>

namespace spire {

inline bool long_tests() {
  const char* form = std::getenv("SPIRE_TESTS");
  return form != nullptr && std::string_view(form) == "long";
}

inline constexpr std::string_view skipped_in_short_form = "a long test, SPIRE_TESTS=long runs it";

}  // namespace spire
