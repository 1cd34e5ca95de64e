// Formats numbers, sizes, durations, times and tables for people, and fields of CSV files.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/text.h"

namespace spire {

// A clock that tests can replace.
using WallClock = std::function<std::chrono::system_clock::time_point()>;
std::chrono::system_clock::time_point wall_time();

std::string percent_text(double share);  // 0.9271 -> "92.71%"
std::string loss_text(double loss);      // four significant digits: "0.1234", "12.35", "nan"

// RFC 4180: fields in quotes where they need them, and CR LF.
std::string csv_line(const std::vector<std::string>& fields);

// Block of text with titles in the first column, and lines or tables beside them.
class Sections {
 public:
  void add(std::string title, const std::string& line);  // an empty line adds nothing
  void add(std::string title, const TextTable& table);   // an empty table adds nothing
  std::string text() const;                              // each line ends with a newline

 private:
  TextTable lines_;  // title (empty after a table's first line), line
};

}  // namespace spire
