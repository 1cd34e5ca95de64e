#include "engine/data/tables/date_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <span>
#include <string>

#include "engine/data/tables/field_text.h"

namespace spire::inline data {
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
    std::string word(rest_.substr(0, count));
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
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

}  // namespace spire::inline data
