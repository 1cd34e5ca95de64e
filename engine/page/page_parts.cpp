#include "engine/page/page_parts.h"

#include <fmt/format.h>

#include "engine/page/html_text.h"
#include "engine/page/page_style.h"

namespace spire::inline page {

std::string whole_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      html_text(title), page_style, body);
}

std::string figure(std::string_view title, std::string_view note, std::string_view legend,
                   std::string_view content) {
  return fmt::format(
      "<figure><figcaption>{} <span>{}</span></figcaption>\n<ul class=\"legend\">{}</ul>\n"
      "<div class=\"wide\">{}</div></figure>\n",
      html_text(title), html_text(note), legend, content);
}

std::string facts_html(const Facts& facts) {
  std::string html = "<dl>\n";
  for (const auto& [name, value] : facts)
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_text(name), html_text(value));
  return html + "</dl>\n";
}

std::string folded_text(std::string_view title, std::string_view text) {
  return fmt::format("<details><summary>{}</summary><pre>{}</pre></details>\n", html_text(title),
                     html_text(text));
}

}  // namespace spire::inline page
