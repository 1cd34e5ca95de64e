// Parts of a page that every page has: its head, figures, tables of facts.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spire::inline page {

// Returns a page in UTF-8 that needs no network and no script. title: plain text. body: HTML whose
// tags are all closed.
std::string whole_page(std::string_view title, std::string_view body);

// Returns <figure>. title, note: plain text. legend: elements <li>. content: an <svg> or a <table>.
std::string figure(std::string_view title, std::string_view note, std::string_view legend,
                   std::string_view content);

using Facts = std::vector<std::pair<std::string, std::string>>;  // plain text: name, value
std::string facts_html(const Facts& facts);                      // <dl>

// Returns <details>, folded. Both arguments are plain text.
std::string folded_text(std::string_view title, std::string_view text);

}  // namespace spire::inline page
