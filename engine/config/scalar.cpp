#include "engine/config/scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <spire/error.h>

#include "engine/base/text.h"
#include "engine/config/synonyms.h"

namespace spire {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Removes the digits at the front and returns their number.
size_t skip_digits(std::string_view& text) {
  size_t count = static_cast<size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
  text.remove_prefix(count);
  return count;
}

void skip_sign(std::string_view& text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
}

// Accepts digits[.digits][e[sign]digits] with a digit before or after the point.
bool is_decimal_number(std::string_view text) {
  skip_sign(text);
  size_t digits = skip_digits(text);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    digits += skip_digits(text);
  }
  if (digits == 0) return false;
  if (!text.starts_with('e') && !text.starts_with('E')) return text.empty();
  text.remove_prefix(1);
  skip_sign(text);
  return skip_digits(text) > 0 && text.empty();
}

// Accepts 7, -3, 0; not 1_000, 1e3, 0x10, 007, which programs read in different ways.
bool is_decimal_integer(std::string_view text) {
  skip_sign(text);
  bool leading_zero = text.size() > 1 && text.front() == '0';
  return skip_digits(text) > 0 && text.empty() && !leading_zero;
}

// Parses by from_chars(), which knows no plus sign; it does not depend on the locale.
template <typename Integer>
Integer parse_whole(std::string_view text, std::string_view kind) {
  if (!is_decimal_integer(text)) {
    fail(Category::config, "expected {} in plain decimal digits, got '{}'", kind, excerpt(text));
  }
  std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  Integer value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    fail(Category::config, "{} is out of range; it must be {} of at most 64 bits", excerpt(text),
         kind);
  }
  return value;
}

}  // namespace

int64_t parse_integer(std::string_view text) {
  return parse_whole<int64_t>(text, "an integer");
}

uint64_t parse_unsigned(std::string_view text) {
  return parse_whole<uint64_t>(text, "an integer >= 0");
}

double parse_number(std::string_view text) {
  if (!is_decimal_number(text)) {
    fail(Category::config, "expected a finite number, got '{}'", excerpt(text));
  }
  std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  double value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc()) {
    fail(Category::config, "{} is too large or too small for a 64-bit floating-point number",
         excerpt(text));
  }
  return value;
}

// A number alone counts seconds. Units go down: "1h30m", not "30m1h".
double parse_duration(std::string_view text) {
  if (is_decimal_number(text)) return parse_number(text);
  constexpr std::array<std::pair<char, double>, 4> units = {
      {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}}};
  double seconds = 0;
  auto unit = units.begin();
  std::string_view rest = text;
  do {
    size_t digits = std::min(rest.find_first_not_of("0123456789."), rest.size());
    std::string_view number = rest.substr(0, digits);
    rest.remove_prefix(digits);
    unit = std::find_if(unit, units.end(), [&](auto each) { return rest.starts_with(each.first); });
    if (unit == units.end() || !is_decimal_number(number))
      fail(Category::config,
           "expected a finite number, got '{}'; durations are written as 90s, 10m, 1h30m or 2d",
           excerpt(text));
    seconds += parse_number(number) * (unit++)->second;
    rest.remove_prefix(1);
  } while (!rest.empty());
  return seconds;
}

bool parse_boolean(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  fail(Category::config, "expected true or false, got '{}'", excerpt(text));
}

std::string unknown_word(std::string_view word, const std::vector<std::string>& known) {
  return fmt::format("unknown value '{}'; must be {}{}{}", excerpt(word),
                     known.size() == 1 ? "" : "one of: ", fmt::join(known, ", "),
                     did_you_mean(meant_word(SynonymGroup::values, word, known)));
}

std::string excerpt(std::string_view text) {
  constexpr size_t longest = 60;
  return printable(text.substr(0, longest)) + (text.size() > longest ? "..." : "");
}

}  // namespace spire
