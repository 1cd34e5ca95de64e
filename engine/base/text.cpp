#include "engine/base/text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <deque>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "engine/base/fail.h"

namespace spire {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

namespace {

// Returns the optimal string alignment distance: insertions, deletions, substitutions and swaps of
// two adjacent letters, the commonest typo, cost 1 each. Three rows of the (|a|+1, |b|+1) table.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> two_above, above, row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    two_above = std::exchange(above, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substitute = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// Applies the regular rules: boxes, processes, branches, but epochs; entries, but days.
std::string plural(std::string_view noun) {
  auto ends_in = [&](std::string_view end) { return noun.ends_with(end); };
  if (ends_in("s") || ends_in("x") || ends_in("sh") || (ends_in("ch") && !ends_in("epoch")))
    return fmt::format("{}es", noun);
  bool vowel_before = noun.size() > 1 && std::string_view("aeiou").find(noun[noun.size() - 2]) !=
                                             std::string_view::npos;
  if (ends_in("y") && !vowel_before) return fmt::format("{}ies", noun.substr(0, noun.size() - 1));
  return fmt::format("{}s", noun);
}

}  // namespace

std::string noun_form(int64_t count, std::string_view noun) {
  return count == 1 ? std::string(noun) : plural(noun);
}

std::string counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}", count, noun_form(count, noun));
}

// printf and fmt print -nan where the sign bit is set, which depends on the processor.
double unsigned_nan(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t max_length = 200;  // longer words are no typos, and the search is quadratic
  if (word.size() > max_length) return "";
  std::string best;
  size_t best_distance = std::numeric_limits<size_t>::max();
  for (const auto& candidate : candidates) {
    size_t allowed = std::max<size_t>(1, std::max(word.size(), candidate.size()) / 3);
    size_t distance = edit_distance(lower_case(word), lower_case(candidate));
    if (distance <= allowed && distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view candidate) {
  return candidate.empty() ? "" : fmt::format("; did you mean '{}'?", candidate);
}

std::string printable(std::string_view text) {
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    auto code = static_cast<unsigned char>(text[i]);
    auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    bool first_of_c1 = code == 0xc2 && next >= 0x80 && next < 0xa0;
    if (code < 0x20 || code == 0x7f) {
      shown += fmt::format("\\x{:02x}", code);
    } else if (first_of_c1) {
      shown += fmt::format("\\x{:02x}\\x{:02x}", code, next);
      ++i;
    } else {
      shown += text[i];
    }
  }
  return shown;
}

std::string message_text(fmt::string_view format, fmt::format_args args) {
  using Argument = fmt::basic_format_arg<fmt::format_context>;
  std::vector<Argument> shown;
  std::deque<std::string> texts;  // to which arguments in `shown` refer
  auto escaped = [&](const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, fmt::string_view>) {
      texts.push_back(printable({value.data(), value.size()}));
      shown.push_back(fmt::format_args(fmt::make_format_args(texts.back())).get(0));
      return true;
    }
    return false;
  };
  for (int i = 0; Argument argument = args.get(i); ++i)
    if (!fmt::visit_format_arg(escaped, argument)) shown.push_back(argument);
  return fmt::vformat(format, fmt::format_args(shown.data(), static_cast<int>(shown.size())));
}

std::string quoted_list(const std::vector<std::string>& names, size_t max_shown) {
  if (names.empty()) return "none";
  std::vector<std::string> some;
  for (const std::string& name : names) {
    if (some.size() == max_shown) break;
    some.push_back(fmt::format("'{}'", printable(name)));
  }
  std::string text = fmt::format("{}", fmt::join(some, ", "));
  return names.size() > max_shown ? fmt::format("{} and {} more", text, names.size() - max_shown)
                                  : text;
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

}  // namespace spire
