// Reports of titled parts.
#pragma once
#include <string>
#include <vector>

#include "engine/base/text.h"

namespace spire {

// A part of a report: its title in the first column, and a table or a single line beside it.
struct TitledTable {
  std::string title;
  TextTable table;  // empty: the part is left out
};
// Returns lines of text; titles and tables are each aligned.
std::string report_text(const std::vector<TitledTable>& parts);

}  // namespace spire
