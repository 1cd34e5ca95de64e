#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <spire/error.h>

#include "engine/base/text.h"

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

}  // namespace spire
