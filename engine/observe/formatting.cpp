#include "engine/observe/formatting.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace spire {

std::chrono::system_clock::time_point wall_time() {
  return std::chrono::system_clock::now();
}

std::string count_text(int64_t value) {
  std::string digits = fmt::format("{}", value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    bool group_starts = (digits.size() - i) % 3 == 0;
    if (group_starts && !text.empty() && text != "-") text += ' ';
    text += digits[i];
  }
  return text;
}

std::string bytes_text(int64_t bytes) {
  constexpr std::array units = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // 1023.95 would print as 1024.0
  for (; value >= 1023.95 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  // Rounds before it splits, so that 59.6 s is 1:00 and not 0:60.
  auto whole = static_cast<int64_t>(std::llround(seconds));
  int64_t minutes = whole / 60 % 60;
  if (whole < 3600) return fmt::format("{}:{:02}", minutes, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, minutes, whole % 60);
}

std::string percent_text(double share) {
  return fmt::format("{:.2f}%", 100 * share);
}

// '#' keeps trailing zeros: columns of losses stay aligned.
std::string loss_text(double loss) {
  return fmt::format("{:#.4g}", unsigned_nan(loss));
}

std::string utc_text(std::chrono::system_clock::time_point time) {
  std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

namespace {

// Counts the characters of a UTF-8 text: bytes of the form 10xxxxxx continue one.
size_t characters(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// Rows may differ in length: a column has the width of the rows that reach it.
std::vector<size_t> column_widths(const TextTable& table) {
  std::vector<size_t> widths;
  for (const auto& row : table)
    for (size_t column = 0; column < row.size(); ++column) {
      if (column == widths.size()) widths.push_back(0);
      widths[column] = std::max(widths[column], characters(row[column]));
    }
  return widths;
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string field(1, '"');
  for (char c : text) {
    if (c == '"') field.push_back('"');
    field.push_back(c);
  }
  field.push_back('"');
  return field;
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::vector<std::string> quoted;
  for (const std::string& field : fields) quoted.push_back(csv_field(field));
  return fmt::format("{}\r\n", fmt::join(quoted, ","));
}

std::vector<std::string> aligned(const TextTable& cells) {
  TextTable table = cells;
  for (auto& row : table) std::ranges::transform(row, row.begin(), printable);
  std::vector<size_t> widths = column_widths(table);
  std::vector<std::string> lines;
  for (const auto& row : table) {
    std::string line;
    for (size_t column = 0; column < row.size(); ++column)
      line += row[column] + std::string(widths[column] + 2 - characters(row[column]), ' ');
    // Without a last character, find_last_not_of() gives npos, and npos + 1 is 0.
    line.resize(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string aligned_text(const TextTable& table) {
  std::string text;
  for (const std::string& line : aligned(table)) text += line + "\n";
  return text;
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
