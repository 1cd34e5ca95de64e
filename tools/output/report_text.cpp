#include "engine/base/text.h"
#include "engine/observe/formatting.h"

namespace spire {

std::string report_text(const std::vector<TitledTable>& parts) {
  Sections sections;
  for (const TitledTable& part : parts) sections.add(part.title, part.table);
  return sections.text();
}

}  // namespace spire
