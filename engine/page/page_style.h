// Style sheet of a page with charts, light and dark. The colours of series and parts are told apart
// also by people with colour blindness: Okabe and Ito, "Color Universal Design", 2008. They are in
// colours.css, from which a run's live page has them, too.
#pragma once
#include <string_view>

namespace spire::inline page {

extern const std::string_view page_style;

}  // namespace spire::inline page
