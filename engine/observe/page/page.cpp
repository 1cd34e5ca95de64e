#include "engine/observe/page/page.h"

#include <cmath>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <sodium.h>

#include "engine/base/hash.h"

namespace spire {

extern const std::string_view page_template;  // page_text.cpp.in

namespace {

// Replaces what has a meaning in HTML, and control characters.
std::string html_text(std::string_view text) {
  std::string safe;
  for (char c : text) {
    auto code = static_cast<unsigned char>(c);
    bool control = (code < 32 && c != '\n' && c != '\t') || code == 127;
    if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'') {
      safe += fmt::format("&#{};", code);
    } else if (control) {
      safe += "\xEF\xBF\xBD";
    } else {
      safe += c;
    }
  }
  return safe;
}

void replace_all(std::string& text, std::string_view name, std::string_view value) {
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + value.size()))
    text.replace(at, name.size(), value);
}

}  // namespace

std::string html_of(const Page& page) {
  std::string data = page.data;
  replace_all(data, "<", "\\u003c");  // it stands in strings alone: no end of the script's element
  const std::pair<std::string_view, std::string> values[] = {{"@TITLE@", html_text(page.title)},
                                                             {"@SUMMARY@", html_text(page.summary)},
                                                             {"@VIEW@", std::string(page.view)},
                                                             {"@DATA@", std::move(data)}};
  // Piece by piece: no value is searched for the name of another.
  std::string html;
  std::string_view rest = page_template;
  while (true) {
    size_t first = rest.npos;
    const std::pair<std::string_view, std::string>* next = nullptr;
    for (const auto& value : values) {
      size_t at = rest.find(value.first);
      if (at >= first) continue;
      first = at;
      next = &value;
    }
    html += rest.substr(0, first);
    if (!next) return html;
    html += next->second;
    rest.remove_prefix(first + next->first.size());
  }
}

std::string_view page_beginning() {
  constexpr std::string_view last = "<title>";
  return page_template.substr(0, page_template.find(last) + last.size());
}

double drawn_number(double value) {
  return std::isfinite(value) ? std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr) : value;
}

std::string base64(std::string_view bytes) {
  constexpr int variant = sodium_base64_VARIANT_ORIGINAL;
  need_sodium();
  std::string text(sodium_base64_encoded_len(bytes.size(), variant), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), variant);
  text.pop_back();  // its zero
  return text;
}

}  // namespace spire
