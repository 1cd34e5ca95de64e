// Configs as texts.
#pragma once
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/load_config.h>

namespace spire {

inline ResolvedConfig parse(const std::string& yaml,
                            const std::vector<std::string>& overrides = {}) {
  return parse_config({{"run.yaml", yaml}}, overrides);
}

// Why it is refused; a test fails where it is not.
inline std::string message_of(const std::string& yaml,
                              const std::vector<std::string>& overrides = {}) {
  try {
    parse(yaml, overrides);
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::config);
    EXPECT_EQ(error.exit_code(), 2);
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << yaml;
  return "";
}

}  // namespace spire
