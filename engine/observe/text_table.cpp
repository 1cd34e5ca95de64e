#include "engine/observe/text_table.h"

#include <algorithm>

namespace spire::inline observe {
namespace {

// Characters of a UTF-8 text: bytes that do not continue one.
size_t characters(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

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

std::vector<std::string> aligned(const TextTable& table) {
  std::vector<size_t> widths = column_widths(table);
  std::vector<std::string> lines;
  for (const auto& row : table) {
    std::string line;
    for (size_t column = 0; column < row.size(); ++column)
      line += row[column] + std::string(widths[column] + 2 - characters(row[column]), ' ');
    line.resize(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

void Sections::add(std::string title, const std::string& line) {
  if (!line.empty()) lines_.push_back({std::move(title), line});
}

void Sections::add(std::string title, const TextTable& table) {
  for (const auto& line : aligned(table)) {
    lines_.push_back({std::move(title), line});
    title.clear();
  }
}

std::string Sections::text() const {
  std::string text;
  for (const auto& line : aligned(lines_)) text += line + "\n";
  return text;
}

}  // namespace spire::inline observe
