#include "engine/data/tables/field_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "engine/data/tables/date_text.h"

namespace spire::inline data {
namespace {

// As R, pandas, databases and spreadsheets write them, those in German, Spanish, Portuguese, Dutch
// and Russian, too; k.A. is the "not stated" of German tables.
constexpr std::array<std::string_view, 32> usual_marks = {
    "NA",     "N/A",   "na",     "n/a",     "NaN",     "nan",      "NULL", "null",
    "None",   "?",     "<NA>",   "-nan",    "-NaN",    "#N/A",     "#NA",  "#N/A N/A",
    "#NULL!", "#NUM!", "#REF!",  "#NAME?",  "#VALUE!", "#DIV/0!",  "#NV",  "#N/D",
    "#N/B",   "#Н/Д",  "#WERT!", "#BEZUG!", "#ZAHL!",  "#VALEUR!", "k.A.", "k. A."};

constexpr std::array<std::string_view, 38> units = {
    "%",   "$",   "€",   "£",   "¥",   "₹",   "₽", "₩",   "₺",   "₪",   "₫",   "₴",   "฿",
    "US$", "R$",  "A$",  "C$",  "kr",  "zł",  "Kč",  "Fr.", "USD", "EUR", "GBP", "JPY", "CHF",
    "CNY", "INR", "AUD", "CAD", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "BRL", "RUB"};

// Blanks of Unicode that stand between digits, and an apostrophe: U+00A0, U+202F, U+2009, U+2019.
constexpr std::array<std::string_view, 6> group_marks = {" ",      "'",      "\u00a0",
                                                         "\u202f", "\u2009", "\u2019"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Returns the mark at the head of the text; empty: there is none.
template <size_t n>
std::string_view head_of(std::string_view text, const std::array<std::string_view, n>& marks) {
  for (std::string_view mark : marks)
    if (text.starts_with(mark)) return mark;
  return {};
}

void drop_blanks(std::string_view& text) {
  constexpr std::array<std::string_view, 4> blanks = {" ", "\u00a0", "\u202f", "\u2009"};
  for (std::string_view blank : blanks) {
    while (text.starts_with(blank)) text.remove_prefix(blank.size());
    while (text.ends_with(blank)) text.remove_suffix(blank.size());
  }
}

// Takes a minus sign, U+2212 too, or a plus sign.
bool take_sign(std::string_view& text, bool& negative) {
  for (std::string_view sign : {"-", "\u2212", "+"}) {
    if (!text.starts_with(sign)) continue;
    negative = sign != "+";
    text.remove_prefix(sign.size());
    return true;
  }
  return false;
}

bool take_unit(std::string_view& text, std::string_view& unit) {
  // The longest one: "Fr." begins as "Fr" would.
  std::string_view best;
  for (std::string_view each : units)
    if (each.size() > best.size() && text.starts_with(each)) best = each;
  if (best.empty()) return false;
  unit = best;
  text.remove_prefix(best.size());
  return true;
}

// Takes the whole part, with or without marks between its groups of digits, into `plain`. Groups
// have 3 digits; between commas all but the last may have 2, as in India.
bool take_whole_part(std::string_view& text, char decimal, std::string& plain) {
  std::string_view mark;
  size_t groups = 0, digits = 0;
  bool pairs = false;
  while (!text.empty()) {
    if (is_digit(text[0])) {
      plain += text[0];
      ++digits;
      text.remove_prefix(1);
      continue;
    }
    std::string_view next = head_of(text, group_marks);
    if (next.empty() && (text[0] == '.' || text[0] == ',') && text[0] != decimal)
      next = text.substr(0, 1);
    bool goes_on = !next.empty() && text.size() > next.size() && is_digit(text[next.size()]);
    if (!goes_on || (groups > 0 && next != mark)) break;
    bool pair = groups > 0 && digits == 2 && next == ",";
    if (digits < 1 || digits > 3 || (groups > 0 && digits != 3 && !pair)) return false;
    pairs = pairs || pair;
    mark = next;
    ++groups;
    digits = 0;
    text.remove_prefix(next.size());
  }
  return groups == 0 || digits == 3;
}

// Takes digits behind a decimal mark, and an exponent, into `plain`.
void take_rest(std::string_view& text, char decimal, std::string& plain) {
  auto take_digits = [&] {
    while (!text.empty() && is_digit(text[0])) {
      plain += text[0];
      text.remove_prefix(1);
    }
  };
  if (text.starts_with(decimal)) {
    plain += '.';
    text.remove_prefix(1);
    take_digits();
  }
  size_t sign = text.size() > 1 && (text[1] == '-' || text[1] == '+') ? 1 : 0;
  bool exponent =
      text.size() > 1 + sign && (text[0] == 'e' || text[0] == 'E') && is_digit(text[1 + sign]);
  if (!exponent) return;
  plain += text.substr(0, 1 + sign);
  text.remove_prefix(1 + sign);
  take_digits();
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::optional<double> finite_number(std::string_view text) {
  text = trimmed(text);
  // std::from_chars knows no plus sign.
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

std::vector<std::string> marks_of(const std::vector<std::string>& missing) {
  if (missing == std::vector<std::string>{"auto"}) return {};
  std::vector<std::string> marks = {""};
  for (const std::string& mark : missing) {
    if (mark == "auto") {
      marks.insert(marks.end(), usual_marks.begin(), usual_marks.end());
    } else {
      marks.emplace_back(trimmed(mark));
    }
  }
  return marks;
}

bool is_blank(std::string_view text, std::span<const std::string> marks) {
  text = trimmed(text);
  if (text.empty()) return true;
  return marks.empty() ? std::ranges::count(usual_marks, text) > 0
                       : std::ranges::count(marks, text) > 0;
}

std::optional<WrittenNumber> written_number(std::string_view text, FieldForm form) {
  text = trimmed(text);
  drop_blanks(text);
  WrittenNumber number;
  bool negative = false, brackets = text.starts_with('(') && text.ends_with(')');
  if (brackets) text = text.substr(1, text.size() - 2);
  bool sign = take_sign(text, negative);
  drop_blanks(text);
  bool unit = take_unit(text, number.unit);
  drop_blanks(text);
  if (unit && !sign) sign = take_sign(text, negative);
  if (brackets && sign) return {};
  char decimal = form == FieldForm::comma ? ',' : '.';
  std::string plain;
  if (!take_whole_part(text, decimal, plain)) return {};
  take_rest(text, decimal, plain);
  drop_blanks(text);
  if (!unit) take_unit(text, number.unit);
  if (!text.empty()) return {};
  std::optional<double> value = finite_number(plain);
  if (!value) return {};
  number.value = negative || brackets ? -*value : *value;
  return number;
}

bool takes_unit(std::string_view column, std::string_view number) {
  return column == number || (number.empty() && column != "%");
}

std::optional<double> number_in(const TableColumn& column, std::string_view text) {
  if (column.form == FieldForm::plain) return finite_number(text);
  if (column.form != FieldForm::point && column.form != FieldForm::comma)
    return date_seconds(text, column.form);
  std::optional<WrittenNumber> number = written_number(text, column.form);
  if (!number || !takes_unit(column.unit, number->unit)) return {};
  return number->value;
}

std::string plain_text(const TableColumn& column, std::string_view text) {
  std::optional<double> number;
  if (column.form != FieldForm::plain) number = number_in(column, text);
  return number ? fmt::format("{}", *number) : std::string(text);
}

}  // namespace spire::inline data
