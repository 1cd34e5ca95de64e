// The messages of Errors, for tests that read them.
#pragma once
#include <string>

#include <gtest/gtest.h>

#include <spire/error.h>

namespace spire {

// Of the Error that `body` ends with, which has to be of the category; empty: it ends well.
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

// The same, where there has to be one.
template <typename Body>
std::string message_of(Category category, const Body& body) {
  std::string message = message_if_any(category, body);
  if (message.empty()) ADD_FAILURE() << "no Error was thrown";
  return message;
}

}  // namespace spire
