#include "engine/data/formats/csv_row_numbers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include <spire/error.h>

namespace spire::inline data {
namespace {

constexpr size_t few_rows = 20;  // as many as a feature may happen to count

// What programs call such a column: pandas, R, databases.
bool names_rows(const std::string& name) {
  constexpr std::array known = {"",       "id",         "index",     "idx",      "row",
                                "row_id", "row_number", "rowid",     "rownames", "row.names",
                                "sample", "sample_id",  "sample_no", "no.",      "#"};
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::count(known, lower) > 0 || lower.starts_with("unnamed: ");
}

std::vector<double> values_of(const CsvRows& rows, size_t feature, size_t features) {
  std::vector<double> values;
  for (size_t row = 0; row < rows.count(); ++row)
    values.push_back(rows.features[row * features + feature]);
  return values;
}

// 0, 1, 2, ... or 1, 2, 3, ... in the order of the file, broken rows counted.
bool counts_rows(const std::vector<double>& values, const CsvRows& rows) {
  double first = values[0] - static_cast<double>(rows.numbers[0]);
  if (first != 0 && first != 1) return false;
  for (size_t row = 0; row < values.size(); ++row)
    if (values[row] != static_cast<double>(rows.numbers[row]) + first) return false;
  return true;
}

bool all_different_whole_numbers(std::vector<double> values) {
  if (!std::ranges::all_of(values, [](double x) { return std::trunc(x) == x; })) return false;
  std::ranges::sort(values);
  return values.size() > 1 && std::ranges::adjacent_find(values) == values.end();
}

void leave_out(size_t feature, CsvLayout& layout, CsvRows& rows) {
  size_t features = layout.features.size(), to = 0;
  for (size_t i = 0; i < rows.features.size(); ++i)
    if (i % features != feature) rows.features[to++] = rows.features[i];
  rows.features.resize(to);
  layout.features.erase(layout.features.begin() + static_cast<std::ptrdiff_t>(feature));
}

std::string key_for(const CsvLayout& layout, size_t column) {
  return fmt::format("data.csv.ignore: [{}]", layout.header
                                                  ? fmt::format("'{}'", layout.names[column])
                                                  : std::to_string(column));
}

}  // namespace

std::vector<std::string> leave_out_row_numbers(const std::filesystem::path& path,
                                               const CsvConfig& config, CsvLayout& layout,
                                               CsvRows& rows) {
  std::vector<std::string> notes;
  if (std::ranges::count(config.ignore, "auto") == 0) return notes;
  for (size_t feature = layout.features.size(); feature-- > 0;) {
    size_t column = layout.features[feature];
    std::vector<double> values = values_of(rows, feature, layout.features.size());
    std::string name = layout.name_of(column);
    if (layout.header && names_rows(layout.names[column]) && all_different_whole_numbers(values)) {
      if (layout.features.size() == 1)
        fail(Category::data,
             "{}: the column {} numbers the rows, and there is no other feature; set "
             "data.csv.ignore: [] if it is one",
             path.string(), name);
      leave_out(feature, layout, rows);
      notes.push_back(fmt::format(
          "{}: the column {} numbers the rows and is left out; data.csv.ignore: [] makes it a "
          "feature",
          path.string(), name));
    } else if (rows.count() >= few_rows && counts_rows(values, rows)) {
      notes.push_back(fmt::format("{}: {} counts the rows; if it is no feature, leave it out by {}",
                                  path.string(), name, key_for(layout, column)));
    }
  }
  return notes;
}

}  // namespace spire::inline data
