// Numbers, sizes, times, tables and words as Spire's own output has them, for observers and for the
// output of programs. All functions are pure, so that any thread may call them, and none throws
// but for want of memory.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spire {

// A count with its noun: "1 sample", "2 processes". noun: a singular with a regular plural; of
// several words the last one is inflected. noun_form() returns the noun alone.
std::string counted(int64_t count, std::string_view noun);
std::string noun_form(int64_t count, std::string_view noun);

std::string lower_case(std::string_view text);  // of ASCII letters; others stay

double unsigned_nan(double value);  // -NaN becomes NaN: "nan" is printed everywhere

// For a word that may be mistyped: the candidate within an edit distance of 1 or a third of the
// longer word, a swap being one edit, without regard to case; "" if there is none.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
std::string did_you_mean(std::string_view candidate);  // "; did you mean 'adam'?", or ""

// The text with control characters as \x0a, which would break a message's line or steer a terminal.
// UTF-8 is kept, but its control characters U+0080 to U+009F.
std::string printable(std::string_view text);

// "'a', 'b' and 992 more", with control characters as \x0a; "none" for an empty list.
std::string quoted_list(const std::vector<std::string>& names, size_t max_shown = 8);

std::string count_text(int64_t value);      // 60000 is "60 000"
std::string bytes_text(int64_t bytes);      // 1536 is "1.5 KiB"
std::string duration_text(double seconds);  // 75.2 is "1:15"; not finite: "-"
std::string utc_text(std::chrono::system_clock::time_point time);  // ISO 8601, with Z

// A field of a CSV file, in quotes where RFC 4180 wants them.
std::string csv_field(std::string_view text);

using TextTable = std::vector<std::vector<std::string>>;  // rows of cells

// One line per row with aligned columns, without trailing blanks. Two blanks separate a column from
// the widest cell of the one before. Widths count UTF-8 characters.
std::vector<std::string> aligned(const TextTable& table);
std::string aligned_text(const TextTable& table);  // the same lines, each with a newline

}  // namespace spire
