#include "engine/data/tables/csv_columns.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

#include <spire/error.h>
#include <spire/text.h>

namespace spire::inline data {
namespace {

using Notes = std::vector<std::string>;

constexpr int64_t few_rows = 20;  // in fewer, words may differ by accident
constexpr size_t max_words_in_messages = 5;

// The fields of a column in the training rows.
struct ColumnFields {
  int64_t numbers = 0, words = 0;
  bool whole = true;                          // all numbers are
  std::set<double> different_numbers = {};    // no more than are levels, and one
  std::map<std::string, int64_t> count = {};  // of each word

  int64_t filled() const { return numbers + words; }
  int64_t different() const { return std::ssize(different_numbers) + std::ssize(count); }
};

// Returns the word of a level: for numbers one spelling, so that 1, 01 and 1.0 are one.
std::string level_of(std::string_view text) {
  if (is_blank(text)) return "";
  std::optional<double> number = finite_number(text);
  return number ? fmt::format("{}", *number + 0.0) : std::string(trimmed(text));
}

void add_field(const std::string& text, int64_t max_levels, ColumnFields& fields) {
  if (is_blank(text)) return;
  std::optional<double> number = finite_number(text);
  if (!number) {
    ++fields.words;
    ++fields.count[std::string(trimmed(text))];
    return;
  }
  ++fields.numbers;
  fields.whole = fields.whole && std::trunc(*number) == *number;
  if (std::ssize(fields.different_numbers) <= max_levels) fields.different_numbers.insert(*number);
}

// Reads the fields of all columns of layout.features. Rows of another length are no rows.
std::vector<ColumnFields> fields_of(const std::filesystem::path& path, const CsvConfig& config,
                                    const std::function<bool(int64_t)>& is_training,
                                    const CsvLayout& layout) {
  auto reader = open_records(path, layout.separator);
  CsvRecord record;
  if (layout.header) reader->next(record);
  std::vector<ColumnFields> fields(layout.features.size());
  for (int64_t number = 0; reader->next(record); ++number) {
    if (!record.problem.empty() || record.fields.size() != layout.columns || !is_training(number))
      continue;
    for (size_t f = 0; f < fields.size(); ++f)
      add_field(record.fields[layout.features[f]].text, config.max_levels, fields[f]);
  }
  return fields;
}

// Whether a column has words rather than numbers: most of its fields are, or the words recur among
// a few whole numbers, as in 2, 3, 4, 5more. Other words among numbers are mistakes.
bool has_words(const ColumnFields& fields, int64_t max_levels) {
  if (2 * fields.words > fields.filled()) return true;
  auto recurs = [](const auto& word) { return word.second > 1; };
  return fields.words > 0 && fields.whole && std::ranges::all_of(fields.count, recurs) &&
         fields.different() <= max_levels && 2 * fields.different() <= fields.filled();
}

// Whether each word marks a row or two: names, keys.
bool marks_rows(const ColumnFields& fields) {
  return fields.words >= few_rows && 2 * fields.different() > fields.filled();
}

std::string some_words(const ColumnFields& fields) {
  std::vector<std::string> words;
  for (const auto& [word, count] : fields.count) words.push_back(word);
  return quoted_list(words, max_words_in_messages);
}

void check_levels(const std::string& where, const CsvConfig& config, const std::string& ignore,
                  const ColumnFields& fields, Notes& notes) {
  if (config.categories == CsvConfig::Categories::refuse)
    fail(Category::data,
         "{} has words ({}), which data.csv.categories: refuse does not allow; set it to one_hot, "
         "or leave the column out by {}",
         where, some_words(fields), ignore);
  if (fields.different() > config.max_levels)
    fail(Category::data,
         "{} has {} different words ({}), and data.csv.max_levels is {}; leave it out by {}, or "
         "raise data.csv.max_levels",
         where, fields.different(), some_words(fields), config.max_levels, ignore);
  if (fields.numbers > 0)
    notes.push_back(
        fmt::format("{} has numbers and words ({}); each of the {} different ones is taken for a "
                    "word",
                    where, some_words(fields), fields.different()));
}

// Returns why the column is left out; empty: it is a feature.
std::string reason_to_leave_out(const ColumnFields& fields, int64_t max_levels) {
  if (fields.filled() == 0) return "has no field that is not empty";
  if (has_words(fields, max_levels) && marks_rows(fields))
    return fmt::format("has a word of its own for most rows ({})", some_words(fields));
  return "";
}

TableColumn column_of(const std::string& name, const CsvConfig& config, const ColumnFields& fields,
                      bool blanks_found) {
  bool refuses = config.blanks == CsvConfig::Blanks::refuse;
  TableColumn column = {.name = name};
  if (!has_words(fields, config.max_levels)) {
    if (!refuses) column.blank = std::numeric_limits<double>::quiet_NaN();
    return column;
  }
  std::set<std::string> levels;
  for (const auto& [word, count] : fields.count) levels.insert(word);
  for (double number : fields.different_numbers) levels.insert(fmt::format("{}", number + 0.0));
  if (blanks_found && !refuses) levels.insert("");
  column.levels.assign(levels.begin(), levels.end());
  column.embedded = config.categories == CsvConfig::Categories::embedding;
  if (!refuses) column.blank = 0;
  return column;
}

double mean_of(const std::vector<double>& numbers) {
  double sum = 0;
  for (double x : numbers) sum += x / static_cast<double>(numbers.size());
  return sum;
}

double median_of(std::vector<double> numbers) {
  auto middle = numbers.begin() + std::ssize(numbers) / 2;
  std::ranges::nth_element(numbers, middle);
  if (numbers.size() % 2 == 1) return *middle;
  return (*std::max_element(numbers.begin(), middle) + *middle) / 2;
}

double number_for_blanks(CsvConfig::Blanks rule, const std::vector<double>& numbers) {
  if (numbers.empty() || rule == CsvConfig::Blanks::zero) return 0;
  return rule == CsvConfig::Blanks::mean ? mean_of(numbers) : median_of(numbers);
}

}  // namespace

bool is_blank(std::string_view text) {
  constexpr std::array blanks = {"",    "NA",   "N/A",  "na",   "n/a", "NaN",
                                 "nan", "NULL", "null", "None", "?"};
  return std::ranges::count(blanks, trimmed(text)) > 0;
}

std::optional<double> field_value(const TableColumn& column, std::string_view text) {
  bool blank = is_blank(text);
  if (blank && !column.blank) return {};
  if (column.levels.empty()) return blank ? column.blank : finite_number(text);
  std::string level = level_of(text);
  auto found = std::ranges::lower_bound(column.levels, level);
  bool there = found != column.levels.end() && *found == level;
  return there ? static_cast<double>(found - column.levels.begin()) : -1;
}

std::string refusal_of(std::string_view text) {
  if (is_blank(text))
    return fmt::format("'{}' is empty, which is refused (data.csv.blanks)", trimmed(text));
  return fmt::format("'{}' is not a finite number", text.substr(0, 40));
}

std::vector<TableColumn> table_columns(const SampleSpec& spec) {
  if (!spec.table.empty()) return spec.table;
  std::vector<TableColumn> table(static_cast<size_t>(spec.columns[0].shape.elements()));
  for (size_t f = 0; f < spec.feature_names.size() && f < table.size(); ++f)
    table[f].name = spec.feature_names[f];
  return table;
}

std::vector<std::string> feature_names(std::span<const TableColumn> table) {
  std::vector<std::string> names;
  for (const TableColumn& column : table) {
    if (column.levels.empty()) names.push_back(column.name);
    for (const std::string& level : column.levels) names.push_back(column.name + "=" + level);
  }
  return names;
}

void find_columns(const std::filesystem::path& path, const CsvConfig& config,
                  const std::function<bool(int64_t)>& is_training, CsvLayout& layout,
                  Notes& notes) {
  int64_t rows = 0;
  auto counted_training = [&](int64_t number) {
    bool training = is_training(number);
    rows += training ? 1 : 0;
    return training;
  };
  std::vector<ColumnFields> fields = fields_of(path, config, counted_training, layout);
  // Without names predictions find columns by their place, which must not depend on the rows.
  bool leaves_out = layout.header && std::ranges::count(config.ignore, "auto") > 0;
  std::vector<size_t> features;
  for (size_t f = 0; f < fields.size(); ++f) {
    size_t column = layout.features[f];
    std::string where = fmt::format("{}: the column {}", path.string(), layout.name_of(column));
    std::string reason = reason_to_leave_out(fields[f], config.max_levels);
    if (leaves_out && rows > 0 && !reason.empty()) {
      notes.push_back(fmt::format("{} {}, and is left out", where, reason));
      continue;
    }
    if (has_words(fields[f], config.max_levels))
      check_levels(where, config, ignore_key(layout, column), fields[f], notes);
    features.push_back(column);
    layout.table.push_back(column_of(layout.header ? layout.names[column] : "", config, fields[f],
                                     fields[f].filled() < rows));
  }
  if (features.empty())
    fail(Category::data, "{}: no column is left as a feature ({}); see data.csv.ignore",
         path.string(), fmt::join(notes, "; "));
  layout.features = std::move(features);
}

bool take_trained_columns(const SampleSpec& trained, CsvLayout& layout) {
  std::vector<TableColumn> known = table_columns(trained);
  std::vector<size_t> features;
  if (!layout.header || trained.feature_names.empty()) {
    if (known.size() != layout.features.size()) return false;
    features = layout.features;
  } else {
    for (const TableColumn& column : known) {
      auto found = std::ranges::find_if(layout.features, [&](size_t place) {
        return layout.names[place] == column.name && std::ranges::count(features, place) == 0;
      });
      if (found == layout.features.end()) return false;
      features.push_back(*found);
    }
  }
  layout.features = std::move(features);
  layout.table = std::move(known);
  return true;
}

void choose_blanks(const CsvConfig& config, const CsvRows& rows,
                   std::span<const EncodedRow> training, CsvLayout& layout, Notes& notes) {
  if (config.blanks == CsvConfig::Blanks::refuse) return;
  for (size_t c = 0; c < layout.table.size(); ++c) {
    TableColumn& column = layout.table[c];
    if (!column.levels.empty()) continue;
    std::vector<double> numbers;
    for (const EncodedRow& row : training) {
      double x = rows.values[row.row * layout.table.size() + c];
      if (!std::isnan(x)) numbers.push_back(x);
    }
    column.blank = number_for_blanks(config.blanks, numbers);
    if (numbers.size() < training.size())
      notes.push_back(fmt::format(
          "{}: {} of the training rows count as {:.6g} (data.csv.blanks)",
          layout.name_of(layout.features[c]),
          counted(std::ssize(training) - std::ssize(numbers), "empty field"), *column.blank));
  }
}

void fill_blanks(const CsvLayout& layout, CsvRows& rows) {
  size_t columns = layout.table.size();
  for (size_t i = 0; i < rows.values.size(); ++i)
    if (std::isnan(rows.values[i])) rows.values[i] = *layout.table[i % columns].blank;
}

}  // namespace spire::inline data
