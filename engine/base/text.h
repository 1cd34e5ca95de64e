// Formats numbers, sizes, times, tables and words for messages and the output of programs. All
// functions are pure, so that any thread may call them, and throw only std::bad_alloc.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spire {

// A count with its noun: "1 sample", "2 processes". noun: a singular with a regular plural; of
// several words the last one takes the plural. noun_form() returns the noun without the count.
std::string counted(int64_t count, std::string_view noun);
std::string noun_form(int64_t count, std::string_view noun);

std::string lower_case(std::string_view text);  // of ASCII letters; others stay

double unsigned_nan(double value);  // clears the sign of a NaN, which fmt prints

// Returns the candidate with the smallest edit distance to `word`; "" if every distance exceeds
// max(1, length of the longer word / 3). A swap of adjacent letters is one edit; case is ignored.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
std::string did_you_mean(std::string_view candidate);  // "; did you mean 'adam'?", or ""

// Returns the text with control characters escaped as \x0a: they would break a message's line or
// control a terminal. Other UTF-8 is kept, except the control characters U+0080 to U+009F.
std::string printable(std::string_view text);

// "'a', 'b' and 992 more", with control characters escaped as \x0a; "none" for an empty list.
std::string quoted_list(const std::vector<std::string>& names, size_t max_shown = 8);

std::string count_text(int64_t value);      // 60000 is "60 000"
std::string bytes_text(int64_t bytes);      // 1536 is "1.5 KiB"
std::string duration_text(double seconds);  // 75.2 is "1:15"; not finite: "-"
std::string utc_text(std::chrono::system_clock::time_point time);  // ISO 8601, with Z

inline std::string bytes_text(size_t bytes) {
  return bytes_text(static_cast<int64_t>(bytes));
}

// Returns the text as a field of a CSV file, in quotes where RFC 4180 requires them.
std::string csv_field(std::string_view text);

using TextTable = std::vector<std::vector<std::string>>;  // rows of cells

// Returns one line per row with aligned columns, without trailing blanks. Two blanks separate a
// column from the widest cell of the column before. Widths count UTF-8 characters.
std::vector<std::string> aligned(const TextTable& table);
std::string aligned_text(const TextTable& table);  // the same lines, each with a newline

}  // namespace spire
