// Formats numbers, sizes, durations, times and tables for people, and fields of CSV files.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace spire::inline observe {

// A clock that tests can replace.
using WallClock = std::function<std::chrono::system_clock::time_point()>;
std::chrono::system_clock::time_point wall_time();

std::string count_text(int64_t value);      // 60000 -> "60 000"
std::string bytes_text(int64_t bytes);      // 1536 -> "1.5 KiB"
std::string duration_text(double seconds);  // 75.2 -> "1:15", 4000 -> "1:06:40"; "-" if not finite
std::string percent_text(double share);     // 0.9271 -> "92.71%"
std::string loss_text(double loss);         // four significant digits: "0.1234", "12.35", "nan"
std::string utc_text(std::chrono::system_clock::time_point time);  // "2026-01-31T12:00:00Z"

// Quotes a CSV field as in RFC 4180, where it needs quotes.
std::string csv_field(std::string_view text);
std::string csv_line(const std::vector<std::string>& fields);  // quoted, with its CR LF

using TextTable = std::vector<std::vector<std::string>>;  // rows of cells

// Returns one line per row with aligned columns, without trailing blanks. Two blanks separate a
// column from the widest cell of the one before. Widths count UTF-8 characters.
std::vector<std::string> aligned(const TextTable& table);
std::string aligned_text(const TextTable& table);  // the same lines, each with a newline

// Block of text with titles in the first column, and lines or tables beside them.
class Sections {
 public:
  void add(std::string title, const std::string& line);  // an empty line adds nothing
  void add(std::string title, const TextTable& table);   // an empty table adds nothing
  std::string text() const;                              // each line ends with a newline

 private:
  TextTable lines_;  // title (empty after a table's first line), line
};

}  // namespace spire::inline observe
