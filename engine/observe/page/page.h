// Pages for browsers: one file that needs nothing from elsewhere, whose script draws what a JSON
// text says (page/*.js). docs/reports.md
#pragma once
#include <string>
#include <string_view>

namespace spire {

struct Page {
  std::string_view view;  // report, bench, sweep, range_test or live: a function of the script
  std::string title;      // plain
  std::string summary;    // plain: the figures for readers whose browser runs no scripts
  std::string data;       // JSON
};

// Returns the page, in UTF-8. All texts are escaped, so that none is read as HTML.
std::string html_of(const Page& page);

// Returns the text with which every page begins; by it the program recognizes its own pages.
std::string_view page_beginning();

// Rounds a number of a page's data to the six digits that a drawing shows. Returns NaN as it is,
// which becomes null in JSON.
double drawn_number(double value);

// RFC 4648, with padding: for images in a page.
std::string base64(std::string_view bytes);

}  // namespace spire
