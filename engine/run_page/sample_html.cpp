#include "engine/run_page/sample_html.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "engine/page/html_text.h"

namespace spire::inline run_page {

std::string base64(const std::string& bytes) {
  static constexpr const char* digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (size_t i = 0; i < 4; ++i) text += i <= count ? digits[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

std::string sample_html(const SampleFile& sample) {
  std::string title = fmt::format("<p>Newest sample, {}:</p>\n", html_text(sample.name));
  if (sample.image)
    return title +
           fmt::format(
               "<p><img class=\"sample\" alt=\"inputs, what the model made of them, and targets\" "
               "src=\"data:image/png;base64,{}\"/></p>\n",
               base64(sample.bytes));
  return title + fmt::format("<pre>{}</pre>\n", html_text(sample.bytes));
}

}  // namespace spire::inline run_page
