// How the fields of a table are written: numbers in the ways of several countries, dates and times,
// and marks of empty fields.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spire/dataset.h>

namespace spire {

// Dates and times of tables, and the numbers that they become.

inline constexpr std::array<std::string_view, date_features> date_parts = {
    "year", "month", "day", "weekday", "seconds"};  // weekday: 1 is Monday; seconds of the day

// Parses a date with or without a time of day into seconds since 1970-01-01, in UTC where the text
// has an offset from it; form time: a time of day alone, in seconds.
std::optional<double> date_seconds(std::string_view text, FieldForm form);

// Returns the number of each of date_parts.
std::array<double, date_parts.size()> parts_of_date(double seconds);

// Returns the text without blanks around it.
std::string_view trimmed(std::string_view text);

// Parses a finite number, with or without blanks around it; nullopt if `text` is none.
std::optional<double> finite_number(std::string_view text);

// Returns the marks of empty fields that data.csv.missing names, for TableColumn::marks; empty:
// those of `auto` alone.
std::vector<std::string> marks_of(const std::vector<std::string>& missing);

// Returns whether a field is empty, or a mark of an empty field. marks: as marks_of() returns them.
bool is_blank(std::string_view text, std::span<const std::string> marks = {});

struct WrittenNumber {
  double value = 0;
  std::string_view unit = {};  // "%", "$", "EUR" before or behind it; empty: none
};

// Parses a number in the form point or comma: decimals, thousands, a sign or brackets, a unit.
std::optional<WrittenNumber> written_number(std::string_view text, FieldForm form);

// Returns whether a number with the unit `number` fits a column with the unit `column`: if both are
// equal, or if the number has none, which may be an amount of money, but no percentage.
bool takes_unit(std::string_view column, std::string_view number);

// Returns the number of a field, read in the form of a column without levels; of a date the seconds
// since 1970-01-01 in UTC. nullopt: the text has another form.
std::optional<double> number_in(const TableColumn& column, std::string_view text);

// Returns a number as finite_number() reads it, and any other text as it is.
std::string plain_text(const TableColumn& column, std::string_view text);

}  // namespace spire
