#include "engine/data/tables/csv_columns.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <numeric>
#include <set>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/data/tables/column_survey.h"

namespace spire {
namespace {

using Notes = std::vector<std::string>;

// Returns the word of a level: for numbers one spelling, so that 1, 01 and 1.0 are one.
std::string level_of(const TableColumn& column, std::string_view text) {
  if (is_blank(text, column.marks)) return "";
  std::optional<double> number = finite_number(text);
  return number ? fmt::format("{}", *number + 0.0) : std::string(trimmed(text));
}

// Reads the fields of all columns of layout.features, and of the target behind them. Rows of
// another length are no rows.
std::vector<ColumnSurvey> survey_columns(const std::filesystem::path& path, const CsvConfig& config,
                                         const std::function<bool(int64_t)>& is_training,
                                         const CsvLayout& layout) {
  auto reader = open_records(path, layout.separator);
  CsvRecord record;
  if (layout.header) reader->next(record);
  std::vector<std::string> marks = marks_of(config.missing);
  std::vector<size_t> places = layout.features;
  places.push_back(layout.target);
  std::vector<ColumnSurvey> columns(places.size());
  for (int64_t number = 0; reader->next(record); ++number) {
    if (!record.problem.empty() || record.fields.size() != layout.columns || !is_training(number))
      continue;
    for (size_t c = 0; c < columns.size(); ++c)
      add_field(record.fields[places[c]].text, marks, config.max_levels, columns[c]);
  }
  choose_forms(
      config, layout.separator == ';',
      [&](size_t c) {
        return fmt::format("{}: the column {}", path.string(), layout.name_of(places[c]));
      },
      columns);
  return columns;
}

// Refuses words that are nearly numbers where they would be of no use as words.
void refuse_nearly_numbers(const std::string& where, const std::string& ignore,
                           const ColumnSurvey& survey) {
  fail(Category::data,
       "{} has fields that are nearly all digits, but no numbers or dates of a known form ({}); "
       "write them as 1234.5 or 2024-12-31, or leave the column out by {}",
       where, some_words(survey), ignore);
}

void check_levels(const std::string& where, const CsvConfig& config, const std::string& ignore,
                  const ColumnSurvey& fields, Notes& notes) {
  if (config.categories == CsvConfig::Categories::refuse)
    fail(Category::data,
         "{} has words ({}), which data.csv.categories: refuse does not allow; set it to one_hot, "
         "or leave the column out by {}",
         where, some_words(fields), ignore);
  bool too_many = fields.different() > config.max_levels;
  if (too_many && are_nearly_numbers(fields)) refuse_nearly_numbers(where, ignore, fields);
  if (too_many)
    fail(Category::data,
         "{} has {} different words ({}), and data.csv.max_levels is {}; leave it out by {}, or "
         "raise data.csv.max_levels",
         where, fields.different(), some_words(fields), config.max_levels, ignore);
  if (fields.numbers > 0 || are_nearly_numbers(fields))
    notes.push_back(
        fmt::format("{} has {} ({}); each of the {} different ones is taken for a word", where,
                    fields.numbers > 0 ? "numbers and words" : "words that are nearly numbers",
                    some_words(fields), fields.different()));
}

// Returns why the column is left out; empty: it is a feature.
std::string reason_to_leave_out(const ColumnSurvey& fields, int64_t max_levels) {
  if (fields.filled() == 0) return "has no field that is not empty";
  if (has_words(fields, max_levels) && marks_rows(fields))
    return fmt::format("has a word of its own for most rows ({})", some_words(fields));
  return "";
}

TableColumn column_of(const std::string& name, const CsvConfig& config, const ColumnSurvey& fields,
                      bool blanks_found) {
  bool refuses = config.blanks == CsvConfig::Blanks::refuse;
  TableColumn column = {.name = name, .marks = marks_of(config.missing)};
  if (!has_words(fields, config.max_levels)) {
    if (!refuses) column.blank = std::numeric_limits<double>::quiet_NaN();
    column.form = fields.form;
    column.unit = fields.unit;
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

// Returns the words of a column of numbers: mistakes, or marks of empty fields that are not known.
std::vector<std::string> odd_words_of(const ColumnSurvey& fields, int64_t max_levels) {
  std::vector<std::string> words;
  if (has_words(fields, max_levels)) return words;
  for (const auto& [word, count] : fields.count) words.push_back(word);
  return words;
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

void note_ambiguous(const std::string& where, const ColumnSurvey& survey, Notes& notes) {
  if (survey.ambiguous.empty()) return;
  bool comma = survey.form == FieldForm::comma;
  notes.push_back(fmt::format(
      "{}: '{}' is read as {:.10g}; data.csv.decimal: {} reads {:.10g}", where, survey.ambiguous,
      written_number(survey.ambiguous, survey.form)->value, comma ? "point" : "comma",
      written_number(survey.ambiguous, comma ? FieldForm::point : FieldForm::comma)->value));
}

// Targets that are dates are words.
void take_target_form(const std::filesystem::path& path, const ColumnSurvey& target,
                      CsvLayout& layout, Notes& notes) {
  if (target.form != FieldForm::point && target.form != FieldForm::comma) return;
  layout.target_column = {.form = target.form, .unit = target.unit};
  note_ambiguous(fmt::format("{}: the target {}", path.string(), layout.name_of(layout.target)),
                 target, notes);
}

}  // namespace

std::optional<double> field_value(const TableColumn& column, std::string_view text) {
  bool blank = is_blank(text, column.marks);
  if (blank && !column.blank) return {};
  if (column.levels.empty()) return blank ? column.blank : number_in(column, text);
  std::string level = level_of(column, text);
  auto found = std::ranges::lower_bound(column.levels, level);
  bool there = found != column.levels.end() && *found == level;
  return there ? static_cast<double>(found - column.levels.begin()) : -1;
}

bool is_written_number(std::string_view text) {
  return finite_number(text) || written_number(text, FieldForm::comma) ||
         written_number(text, FieldForm::point);
}

std::string refusal_of(const TableColumn& column, std::string_view text) {
  if (is_blank(text, column.marks))
    return fmt::format("'{}' is empty, which is refused (data.csv.blanks)", trimmed(text));
  constexpr const char* marks = " (data.csv.missing lists what stands for an empty field)";
  std::string shown(text.substr(0, 40));
  if (column.has_dates() || column.form == FieldForm::time)
    return fmt::format("'{}' is no {} in the form of the training rows", shown,
                       column.has_dates() ? "date" : "time of day");
  if (column.form == FieldForm::plain) {
    return fmt::format(
        "'{}' is not a finite number{}", shown,
        is_written_number(text) ? " as those of the training rows are written (1234.5)" : marks);
  }
  return fmt::format("'{}' is not a number with a decimal {}{}{}", shown,
                     column.form == FieldForm::comma ? "comma" : "point",
                     column.unit.empty() ? "" : fmt::format(" and '{}'", column.unit),
                     is_written_number(text) ? "" : marks);
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
    if (column.has_dates()) {
      for (std::string_view part : date_parts)
        names.push_back(fmt::format("{}.{}", column.name, part));
    } else if (column.levels.empty()) {
      names.push_back(column.name);
    }
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
  std::vector<ColumnSurvey> fields = survey_columns(path, config, counted_training, layout);
  ColumnSurvey target = std::move(fields.back());
  fields.pop_back();
  take_target_form(path, target, layout, notes);
  // Without names predictions find columns by their place, which must not depend on the rows.
  bool leaves_out = layout.header && std::ranges::count(config.ignore, "auto") > 0;
  std::vector<size_t> features;
  bool texts = false;  // among the columns that are left out
  for (size_t f = 0; f < fields.size(); ++f) {
    size_t column = layout.features[f];
    std::string where = fmt::format("{}: the column {}", path.string(), layout.name_of(column));
    std::string reason = reason_to_leave_out(fields[f], config.max_levels);
    if (leaves_out && rows > 0 && !reason.empty()) {
      if (are_nearly_numbers(fields[f]) && !names_rows(layout.names[column]))
        refuse_nearly_numbers(where, ignore_key(layout, column), fields[f]);
      texts = texts || marks_rows(fields[f]);
      notes.push_back(fmt::format("{} {}, and is left out", where, reason));
      continue;
    }
    layout.odd_words[column] = odd_words_of(fields[f], config.max_levels);
    if (has_words(fields[f], config.max_levels))
      check_levels(where, config, ignore_key(layout, column), fields[f], notes);
    note_ambiguous(where, fields[f], notes);
    features.push_back(column);
    layout.table.push_back(column_of(layout.header ? layout.names[column] : "", config, fields[f],
                                     fields[f].filled() < rows));
  }
  if (features.empty())
    fail(Category::data, "{}: no column is left as a feature ({}); {}", path.string(),
         fmt::join(notes, "; "),
         texts
             ? "texts are no features of a table: write columns of numbers that are computed from "
               "them, or train a language model on them (docs/formats.md#text)"
             : "see data.csv.ignore");
  layout.features = std::move(features);
}

std::vector<TableColumn> column_forms(const std::filesystem::path& path, const CsvConfig& config,
                                      const CsvLayout& layout) {
  CsvLayout all = layout;
  all.features.resize(layout.columns - 1);
  std::iota(all.features.begin(), all.features.end(), size_t{0});
  all.target = layout.columns - 1;
  std::vector<TableColumn> columns(layout.columns, {.marks = marks_of(config.missing)});
  try {
    std::vector<ColumnSurvey> surveys = survey_columns(
        path, config, [](int64_t) { return true; }, all);
    for (size_t c = 0; c < columns.size(); ++c) {
      if (has_words(surveys[c], config.max_levels)) continue;
      columns[c].form = surveys[c].form;
      columns[c].unit = surveys[c].unit;
    }
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;  // else dates in an order that nothing shows
  }
  return columns;
}

bool take_trained_columns(const SampleSpec& trained, const CsvConfig& config, CsvLayout& layout) {
  std::vector<TableColumn> known = table_columns(trained);
  for (TableColumn& column : known) column.marks = marks_of(config.missing);
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
  layout.target_column = trained.target;
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

}  // namespace spire
