// Throws Errors with formatted messages. A header of its own, as programs that use the library need
// not have fmt.
#pragma once
#include <string>
#include <utility>

#include <fmt/format.h>

#include <spire/error.h>

namespace spire {

// Formats a message. In arguments that are strings, control characters are escaped as \x0a and the
// like, so that a path or a name from the data can neither break the message's line nor control a
// terminal. The format itself is not escaped.
std::string message_text(fmt::string_view format, fmt::format_args args);

// Throws an Error with a formatted message: fail(Category::data, "{}: is empty", path). For text of
// several lines, throw Error(category, text).
template <typename... Args>
[[noreturn]] void fail(Category category, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(category, message_text(format, fmt::make_format_args(args...)));
}

// Throws Error(unexpected) if `holds` is false: a broken invariant, or a wrong use of the API.
template <typename... Args>
void require(bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) fail(Category::unexpected, format, std::forward<Args>(args)...);
}

}  // namespace spire
