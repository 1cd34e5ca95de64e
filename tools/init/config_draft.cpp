#include <algorithm>

#include <fmt/format.h>

#include <spire/error.h>

#include "tools/init/draft_config.h"

namespace spire {

namespace {

constexpr size_t comment_column = 32;

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.')) {
    parts.push_back(path.substr(0, dot));
    path.remove_prefix(dot + 1);
  }
  parts.push_back(path);
  return parts;
}

}  // namespace

void ConfigDraft::note(std::string text) {
  notes_.push_back(std::move(text));
}

void ConfigDraft::set(std::string path, std::string value, std::string why) {
  lines_.push_back({std::move(path), std::move(value), std::move(why)});
}

const std::string& ConfigDraft::value_of(std::string_view path) const {
  auto found = std::ranges::find(lines_, path, &DraftLine::path);
  require(found != lines_.end(), "'{}' is not in the draft", path);
  return found->value;
}

// A section is opened where a line is the first one in it.
std::string ConfigDraft::text() const {
  std::string text;
  for (const std::string& note : notes_) text += note.empty() ? "#\n" : fmt::format("# {}\n", note);
  std::vector<std::string_view> open;
  for (const DraftLine& line : lines_) {
    std::vector<std::string_view> parts = parts_of(line.path);
    size_t same = 0;
    while (same < open.size() && same + 1 < parts.size() && open[same] == parts[same]) ++same;
    for (size_t i = same; i + 1 < parts.size(); ++i)
      text += fmt::format("{:{}}{}:\n", "", 2 * i, parts[i]);
    open.assign(parts.begin(), parts.end() - 1);
    std::string row =
        fmt::format("{:{}}{}: {}", "", 2 * (parts.size() - 1), parts.back(), line.value);
    if (!line.why.empty()) row = fmt::format("{:<{}} # {}", row, comment_column, line.why);
    text += row + "\n";
  }
  return text;
}

}  // namespace spire
