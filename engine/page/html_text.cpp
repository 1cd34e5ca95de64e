#include "engine/page/html_text.h"

namespace spire::inline page {

std::string html_text(std::string_view text) {
  std::string safe;
  for (char c : text) {
    auto code = static_cast<unsigned char>(c);
    if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else if (c == '"') {
      safe += "&quot;";
    } else if (c == '\'') {
      safe += "&#39;";
    } else if ((code < 32 && c != '\n' && c != '\t') || code == 127) {
      safe += "\xEF\xBF\xBD";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace spire::inline page
