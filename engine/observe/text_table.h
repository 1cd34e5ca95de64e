// Aligns text in columns: tables, and blocks of titled sections.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace spire::inline observe {

using TextTable = std::vector<std::vector<std::string>>;  // rows of cells

// Returns one line a row, without trailing blanks. A column starts two blanks after the widest cell
// of the one before. Widths count UTF-8 characters.
std::vector<std::string> aligned(const TextTable& table);

class Sections {
 public:
  void add(std::string title, const std::string& line);  // an empty line adds nothing
  void add(std::string title, const TextTable& table);   // an empty table adds nothing
  // Titles in one column, contents in the next; each line ends with a newline.
  std::string text() const;

 private:
  TextTable lines_;  // title (empty on a table's further lines), content
};

}  // namespace spire::inline observe
