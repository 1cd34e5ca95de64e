// Dates and times of tables, and the numbers that they become.
#pragma once
#include <array>
#include <optional>
#include <string_view>

#include <spire/sample_spec.h>

namespace spire::inline data {

inline constexpr std::array<std::string_view, date_features> date_parts = {
    "year", "month", "day", "weekday", "seconds"};  // weekday: 1 is Monday; seconds of the day

// Parses a date with or without a time of day into seconds since 1970-01-01, in UTC where the text
// has an offset from it; form time: a time of day alone, in seconds.
std::optional<double> date_seconds(std::string_view text, FieldForm form);

// Returns the number of each of date_parts.
std::array<double, date_parts.size()> parts_of_date(double seconds);

}  // namespace spire::inline data
