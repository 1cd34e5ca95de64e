#include "engine/data/tables/field_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <span>
#include <string>

#include <fmt/format.h>

#include "engine/base/text.h"

namespace spire {
namespace {

constexpr double day_seconds = 86400;

constexpr std::array<std::string_view, 12> months = {
    "january", "february", "march",     "april",   "may",      "june",
    "july",    "august",   "september", "october", "november", "december"};
constexpr std::array<std::string_view, 7> weekdays = {"monday", "tuesday",  "wednesday", "thursday",
                                                      "friday", "saturday", "sunday"};

struct Day {
  int year = 0, month = 0, day = 1;
};

// Reads a text from its head; each take_...() moves past what it takes, and only that.
class DateReader {
 public:
  explicit DateReader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  char next() const { return rest_.empty() ? '\0' : rest_[0]; }

  bool take(std::string_view any_of) {
    if (rest_.empty() || any_of.find(rest_[0]) == any_of.npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip(std::string_view any_of) {
    while (take(any_of)) {
    }
  }

  // Takes least to most digits, no more of which follow. digits: how many there were.
  std::optional<int> take_number(size_t least, size_t most, size_t* digits = nullptr) {
    size_t count = 0;
    while (count < rest_.size() && std::isdigit(static_cast<unsigned char>(rest_[count]))) ++count;
    if (count < least || count > most) return {};
    int value = 0;
    std::from_chars(rest_.data(), rest_.data() + count, value);
    rest_.remove_prefix(count);
    if (digits) *digits = count;
    return value;
  }

  // Takes a name, or its first three letters, in any case; returns its place from 1.
  std::optional<int> take_name(std::span<const std::string_view> names) {
    size_t count = 0;
    while (count < rest_.size() && std::isalpha(static_cast<unsigned char>(rest_[count]))) ++count;
    std::string word = lower_case(rest_.substr(0, count));
    for (size_t i = 0; i < names.size(); ++i) {
      if (word != names[i] && word != names[i].substr(0, 3)) continue;
      rest_.remove_prefix(count);
      return static_cast<int>(i) + 1;
    }
    return {};
  }

  // Takes ".25" behind seconds.
  double take_fraction() {
    double value = 0, unit = 0.1;
    if (!take(".,")) return 0;
    for (; std::isdigit(static_cast<unsigned char>(next())); rest_.remove_prefix(1), unit /= 10)
      value += unit * (next() - '0');
    return value;
  }

 private:
  std::string_view rest_;
};

// Years of two digits are 1969 to 2068, as POSIX has it.
int full_year(int year, size_t digits) {
  return digits > 2 ? year : year + (year < 69 ? 2000 : 1900);
}

// 2024-12-31, 2024/12/31, 2024.12.31, 2024-12
std::optional<Day> year_first(DateReader& text) {
  Day day;
  auto year = text.take_number(4, 4);
  char separator = text.next();
  if (!year || !text.take("-/.")) return {};
  auto month = text.take_number(1, 2);
  if (!month) return {};
  day.year = *year;
  day.month = *month;
  if (text.next() != separator) return separator == '.' ? std::nullopt : std::optional(day);
  text.take("-/.");
  auto number = text.take_number(1, 2);
  if (!number) return {};
  day.day = *number;
  return day;
}

// 31.12.2024, 31/12/24, 12/31/2024, 31-12-2024
std::optional<Day> year_last(DateReader& text, FieldForm form) {
  auto first = text.take_number(1, 2);
  char separator = text.next();
  if (!first || !text.take("-/.")) return {};
  auto second = text.take_number(1, 2);
  if (!second || text.next() != separator) return {};
  text.take("-/.");
  size_t digits = 0;
  auto year = text.take_number(2, 4, &digits);
  if (!year || digits == 3 || (digits == 2 && separator == '-')) return {};
  // Nobody writes 12.31.2024.
  if (form == FieldForm::date || (separator == '.' && form != FieldForm::day_first)) return {};
  bool day_first = form == FieldForm::day_first;
  return Day{full_year(*year, digits), day_first ? *second : *first, day_first ? *first : *second};
}

// 31 Dec 2024, Dec 31, 2024, 31-Dec-24, December 2024. Of "Jan 05" nobody knows whether it is a day
// or a year: it is no date.
std::optional<Day> named_month(DateReader& text) {
  constexpr std::string_view between = " -.,/";
  if (text.take_name(weekdays)) text.skip(between);
  std::optional<int> day = text.take_number(1, 2);
  if (day) text.skip(between);
  std::optional<int> month = text.take_name(months);
  if (!month) return {};
  text.skip(between);
  size_t digits = 0, least = 2;
  if (!day) {
    DateReader before = text;
    day = text.take_number(1, 2);
    text.skip(between);
    if (!day || !std::isdigit(static_cast<unsigned char>(text.next()))) {
      day = 1;  // December 2024
      least = 4;
      text = before;
    }
  }
  auto year = text.take_number(least, 4, &digits);
  if (!year || digits == 3) return {};
  return Day{full_year(*year, digits), *month, *day};
}

std::optional<Day> take_day(DateReader& text, FieldForm form) {
  for (auto read : {+[](DateReader&reader, FieldForm) { return year_first(reader); },
                    +[](DateReader&reader, FieldForm as) { return year_last(reader, as); },
                    +[](DateReader&reader, FieldForm) { return named_month(reader); }}) {
    DateReader tried = text;
    if (auto day = read(tried, form)) {
      text = tried;
      return day;
    }
  }
  return {};
}

// 23:59, 23:59:30.5, 11:59 PM
std::optional<double> take_clock(DateReader& text) {
  auto hour = text.take_number(1, 2);
  if (!hour || !text.take(":")) return {};
  auto minute = text.take_number(2, 2);
  std::optional<int> second = 0;
  double fraction = 0;
  if (minute && text.take(":")) {
    second = text.take_number(2, 2);
    fraction = text.take_fraction();
  }
  if (!minute || !second || *minute > 59 || *second > 60) return {};
  text.skip(" ");
  constexpr std::array<std::string_view, 2> halves = {"am", "pm"};
  if (auto half = text.take_name(halves)) {
    if (*hour < 1 || *hour > 12) return {};
    hour = *hour % 12 + (*half == 2 ? 12 : 0);
  }
  if (*hour > 23) return {};
  return *hour * 3600.0 + *minute * 60.0 + *second + fraction;
}

// Z, UTC, +02:00, -0500: the seconds that local time is ahead of UTC.
std::optional<double> take_offset(DateReader& text) {
  constexpr std::array<std::string_view, 3> utc = {"z", "utc", "gmt"};
  text.skip(" ");
  if (text.at_end() || text.take_name(utc)) return 0;
  bool behind = text.next() == '-';
  if (!text.take("+-")) return {};
  size_t digits = 0;
  auto number = text.take_number(2, 4, &digits);
  if (!number || digits == 3) return {};
  int hours = digits == 4 ? *number / 100 : *number;
  std::optional<int> minutes = digits == 4 ? *number % 100 : 0;
  if (digits == 2 && text.take(":")) minutes = text.take_number(2, 2);
  if (!minutes || hours > 14 || *minutes > 59) return {};
  double seconds = hours * 3600.0 + *minutes * 60.0;
  return behind ? -seconds : seconds;
}

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

std::optional<double> date_seconds(std::string_view text, FieldForm form) {
  using namespace std::chrono;
  DateReader reader(trimmed(text));
  if (form == FieldForm::time) {
    std::optional<double> clock = take_clock(reader);
    return reader.at_end() ? clock : std::nullopt;
  }
  std::optional<Day> found = take_day(reader, form);
  if (!found) return {};
  year_month_day date(year(found->year), month(static_cast<unsigned>(found->month)),
                      day(static_cast<unsigned>(found->day)));
  if (!date.ok()) return {};
  double seconds = static_cast<double>(sys_days(date).time_since_epoch().count()) * day_seconds;
  if (reader.at_end()) return seconds;
  if (!reader.take("T, ")) return {};
  reader.skip(" ");
  std::optional<double> clock = take_clock(reader);
  std::optional<double> offset = clock ? take_offset(reader) : std::nullopt;
  if (!offset || !reader.at_end()) return {};
  return seconds + *clock - *offset;
}

std::array<double, date_parts.size()> parts_of_date(double seconds) {
  using namespace std::chrono;
  double days_before = std::floor(seconds / day_seconds);
  sys_days at{days(static_cast<int>(days_before))};
  year_month_day date(at);
  return {static_cast<double>(int{date.year()}), static_cast<double>(unsigned{date.month()}),
          static_cast<double>(unsigned{date.day()}),
          static_cast<double>(weekday(at).iso_encoding()), seconds - days_before * day_seconds};
}

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

}  // namespace spire
