#include "engine/observe/formatting.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace spire {

std::chrono::system_clock::time_point wall_time() {
  return std::chrono::system_clock::now();
}

std::string percent_text(double share) {
  return fmt::format("{:.2f}%", 100 * share);
}

// '#' keeps trailing zeros: columns of losses stay aligned.
std::string loss_text(double loss) {
  return fmt::format("{:#.4g}", unsigned_nan(loss));
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::vector<std::string> quoted;
  for (const std::string& field : fields) quoted.push_back(csv_field(field));
  return fmt::format("{}\r\n", fmt::join(quoted, ","));
}

void Sections::add(std::string title, const std::string& line) {
  if (!line.empty()) lines_.push_back({std::move(title), line});
}

void Sections::add(std::string title, const TextTable& table) {
  for (const auto& line : aligned(table)) {
    lines_.push_back({std::move(title), line});
    title.clear();  // only the first line has the title
  }
}

std::string Sections::text() const {
  return aligned_text(lines_);
}

}  // namespace spire
