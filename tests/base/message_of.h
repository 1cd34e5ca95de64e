// Reads the messages of Errors in tests.
#pragma once
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

namespace spire {

// Matches a text that has all the parts.
template <typename... Parts>
auto HasAll(const Parts&... parts) {
  return ::testing::AllOf(::testing::HasSubstr(parts)...);
}

// Returns the message of the Error that `body` throws, which must have the category; empty: none.
template <typename Body>
std::string message_if_any(Category category, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), category) << error.what();
    return error.what();
  }
  return "";
}

// Returns the same message; a test fails that has none.
template <typename Body>
std::string message_of(Category category, const Body& body) {
  std::string message = message_if_any(category, body);
  if (message.empty()) ADD_FAILURE() << "no Error was thrown";
  return message;
}

}  // namespace spire
