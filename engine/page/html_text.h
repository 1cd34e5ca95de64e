// Text for HTML and SVG, as content of an element or in quotes as the value of an attribute.
#pragma once
#include <string>
#include <string_view>

namespace spire::inline page {

// Replaces & < > " ' by entities, and control characters except newlines and tabs by U+FFFD.
std::string html_text(std::string_view text);

}  // namespace spire::inline page
