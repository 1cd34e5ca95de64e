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

}  // namespace spire
