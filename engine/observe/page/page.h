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

// Returns the page, in UTF-8. No text of it is read as HTML, whatever it holds.
std::string html_of(const Page& page);

// How every page begins, by which the program knows its own.
std::string_view page_beginning();

// A number of a page's data, with as many digits as a drawing shows; NaN is null there.
double drawn_number(double value);

// RFC 4648, with padding: for images in a page.
std::string base64(std::string_view bytes);

}  // namespace spire
