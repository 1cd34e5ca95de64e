#include "engine/data/tables/csv_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/data/dataset.h"
#include "engine/data/tables/csv_columns.h"

namespace spire {
namespace {

CsvRecord first_record(const std::filesystem::path& path, char separator) {
  CsvRecord record;
  if (!open_records(path, separator)->next(record))
    fail(Category::data, "{}: contains no rows; get an intact copy", path.string());
  return record;
}

// Whether a field of the first row is a number, which no name of a column is.
bool is_number(const CsvField& field) {
  if (finite_number(field.text)) return true;
  for (FieldForm form : {FieldForm::point, FieldForm::comma})
    if (auto number = written_number(field.text, form); number && number->unit.empty()) return true;
  return false;
}

bool is_header(const CsvRecord& record, CsvConfig::Header header) {
  if (record.names) return true;
  if (header != CsvConfig::Header::automatic) return header == CsvConfig::Header::yes;
  // One name may be missing: programs leave out that of the row numbers.
  auto is_empty = [](const CsvField& field) { return trimmed(field.text).empty(); };
  return std::ranges::none_of(record.fields, is_number) &&
         std::ranges::count_if(record.fields, is_empty) <= 1;
}

// Refuses a first row that may be a header or not: it has no number, but empty fields.
void check_first_row(const std::filesystem::path& path, const CsvRecord& record) {
  if (std::ranges::any_of(record.fields, is_number)) return;
  fail(Category::data,
       "{}:1:1: the first row has no number, but several empty fields; say whether it names the "
       "columns by data.csv.header: yes or no",
       path.string());
}

std::vector<std::string> names_in(const CsvRecord& record) {
  std::vector<std::string> names;
  for (const CsvField& field : record.fields) names.emplace_back(trimmed(field.text));
  // A mark of comments before the first name, as numpy.savetxt writes it.
  if (names[0].size() > 1 && names[0].starts_with('#')) names[0] = trimmed(names[0].substr(1));
  return names;
}

// Returns the column that data.csv.<key> names by `word`.
size_t column_of(const char* key, const std::string& word, const CsvLayout& layout,
                 const std::filesystem::path& path) {
  if (auto found = find_column(word, layout.names, layout.columns)) return *found;
  fail(Category::config, "data.csv.{}: {} has no column '{}'; {}{}", key, path.string(), word,
       layout.header ? fmt::format("must be one of: {}", fmt::join(layout.names, ", "))
                     : fmt::format("it has no header, so use 0 to {}", layout.columns - 1),
       did_you_mean(nearest(word, layout.names)));
}

size_t target_column(const std::string& target, const CsvLayout& layout,
                     const std::filesystem::path& path) {
  // A column may be called "last".
  bool last = target == "last" && !find_column(target, layout.names, layout.columns);
  return last ? layout.columns - 1 : column_of("target", target, layout, path);
}

// Returns all columns but the target and those in data.csv.ignore.
std::vector<size_t> feature_columns(const CsvConfig& config, const CsvLayout& layout,
                                    const std::filesystem::path& path) {
  std::vector<size_t> features;
  for (size_t column = 0; column < layout.columns; ++column)
    if (column != layout.target) features.push_back(column);
  for (const std::string& word : config.ignore) {
    if (word == "auto") continue;
    size_t column = column_of("ignore", word, layout, path);
    if (column == layout.target)
      fail(Category::config, "data.csv.ignore: {} is the target; see data.csv.target",
           layout.name_of(column));
    std::erase(features, column);
  }
  if (features.empty())
    fail(Category::config, "data.csv.ignore: leaves {} no column as a feature; name fewer",
         path.string());
  return features;
}

void check_header(const std::filesystem::path& path, const CsvRecord& record,
                  const CsvLayout& layout) {
  std::vector<std::string> names = names_in(record);
  if (names == layout.names) return;
  if (std::optional<std::string> lacking = column_that_lacks(names, layout.names))
    fail(
        Category::data,
        "{}:1:1: lacks {} '{}'; set data.path to the training file alone, of which a share is then "
        "test data, and predict {} later",
        path.string(), *lacking == layout.names[layout.target] ? "the target" : "the column",
        *lacking, path.filename().string());
  fail(Category::data,
       "{}:1:1: the columns are {}, but those of the training file are {}; use files of one set",
       path.string(), fmt::join(names, ", "), fmt::join(layout.names, ", "));
}

// Whether the header ends with a separator: its last column has no name, and is the target.
bool ends_with_separator(const CsvLayout& layout) {
  return layout.header && layout.target + 1 == layout.columns && layout.names.back().empty();
}

std::string why_empty(const CsvLayout& layout) {
  return fmt::format(
      ", as the rows end with '{}', behind which is a column without a name; remove these, or set "
      "data.csv.target to the column before: '{}'",
      layout.separator, layout.names[layout.columns - 2]);
}

// Says how many fields a row has, and whether a separator at its end, or the header's, is why.
std::string wrong_count(const CsvRecord& record, const CsvLayout& layout) {
  std::string text = fmt::format("{} fields, expected {}", record.fields.size(), layout.columns);
  if (record.fields.size() == layout.columns + 1 && trimmed(record.fields.back().text).empty())
    return text + fmt::format(": the row ends with '{}', which the first row does not; remove it",
                              layout.separator);
  if (record.fields.size() + 1 == layout.columns && layout.header && layout.names.back().empty())
    return text + fmt::format(": the first row ends with '{}', which this one does not; remove it",
                              layout.separator);
  return text;
}

// All words of a column of numbers, where there are several: each would be refused in turn.
std::string all_odd_words(const CsvLayout& layout, size_t column) {
  constexpr size_t shown = 8;
  auto found = layout.odd_words.find(column);
  if (found == layout.odd_words.end() || found->second.size() < 2) return "";
  return fmt::format("; no numbers in this column are {}", quoted_list(found->second, shown));
}

// Appends the row, or rejects it with its first problem.
void append_row(const std::filesystem::path& path, const CsvLayout& layout, const CsvRecord& record,
                int64_t number, CsvRows& rows, RejectedRows& rejected) {
  auto reject = [&](const CsvPosition& position, const std::string& problem) {
    rows.values.resize(rows.count() * layout.table.size());  // without what this row appended
    rejected.add(path, position, problem);
  };
  if (!record.problem.empty()) return reject(record.problem_position, record.problem);
  if (record.fields.size() != layout.columns)
    return reject(record.fields.back().position, wrong_count(record, layout));
  for (size_t f = 0; f < layout.features.size(); ++f) {
    const CsvField& field = record.fields[layout.features[f]];
    std::optional<double> value = field_value(layout.table[f], field.text);
    if (!value)
      return reject(field.position, fmt::format("{}: {}{}", layout.name_of(layout.features[f]),
                                                refusal_of(layout.table[f], field.text),
                                                all_odd_words(layout, layout.features[f])));
    if (std::abs(*value) > largest_number)
      return reject(field.position, fmt::format("{}: '{}' is too large: numbers end at {:.2g}",
                                                layout.name_of(layout.features[f]),
                                                trimmed(field.text), largest_number));
    rows.values.push_back(*value);
  }
  const CsvField& target = record.fields[layout.target];
  std::string_view text = trimmed(target.text);
  if (text.empty())
    return reject(target.position,
                  fmt::format("{}: the target is empty{}", layout.name_of(layout.target),
                              ends_with_separator(layout) ? why_empty(layout) : ""));
  rows.targets.push_back(plain_text(layout.target_column, text));
  rows.positions.push_back(target.position);
  rows.numbers.push_back(number);
}

constexpr size_t few_counted_rows = 20;  // in fewer a feature may count rows by accident

std::vector<double> values_of(const CsvRows& rows, size_t feature, size_t features) {
  std::vector<double> values;
  for (size_t row = 0; row < rows.count(); ++row)
    values.push_back(rows.values[row * features + feature]);
  return values;
}

// Returns whether the values are 0, 1, 2, ... or 1, 2, 3, ... in file order, rejected rows counted.
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

// Compacts the (N, F) matrix in place to (N, F - 1).
void remove_feature(size_t feature, CsvLayout& layout, CsvRows& rows) {
  size_t features = layout.features.size(), to = 0;
  for (size_t i = 0; i < rows.values.size(); ++i)
    if (i % features != feature) rows.values[to++] = rows.values[i];
  rows.values.resize(to);
  auto place = static_cast<std::ptrdiff_t>(feature);
  layout.features.erase(layout.features.begin() + place);
  layout.table.erase(layout.table.begin() + place);
}

}  // namespace

std::optional<std::string> column_that_lacks(const std::vector<std::string>& names,
                                             const std::vector<std::string>& all) {
  if (names.size() + 1 != all.size()) return {};
  auto [rest, there] = std::mismatch(all.begin(), all.end() - 1, names.begin());
  if (!std::equal(there, names.end(), rest + 1, all.end())) return {};
  return *rest;
}

bool names_rows(const std::string& name) {
  constexpr std::array known = {"",       "id",         "index",     "idx",      "row",
                                "row_id", "row_number", "rowid",     "rownames", "row.names",
                                "sample", "sample_id",  "sample_no", "no.",      "#"};
  std::string lower = lower_case(name);
  if (std::ranges::count(known, lower) > 0 || lower.starts_with("unnamed: ")) return true;
  // PassengerId, customerID, passenger_id, "Order ID": id as a word of its own, unlike in "paid".
  if (lower.size() < 3 || !lower.ends_with("id")) return false;
  char before = name[name.size() - 3], first = name[name.size() - 2];
  bool letter = std::isalpha(static_cast<unsigned char>(before)) != 0;
  return !letter || (std::islower(static_cast<unsigned char>(before)) && first == 'I');
}

std::string ignore_key(const CsvLayout& layout, size_t column) {
  return fmt::format("data.csv.ignore: [auto, {}]", layout.header
                                                        ? fmt::format("'{}'", layout.names[column])
                                                        : std::to_string(column));
}

std::vector<std::string> csv_names(const CsvRecord& first, const CsvConfig& config) {
  return is_header(first, config.header) ? names_in(first) : std::vector<std::string>();
}

std::optional<size_t> find_column(const std::string& word, const std::vector<std::string>& names,
                                  size_t columns) {
  auto named = std::ranges::find(names, word);
  if (named != names.end()) return static_cast<size_t>(named - names.begin());
  size_t index = 0;
  const char* end = word.data() + word.size();
  auto [stop, error] = std::from_chars(word.data(), end, index);
  if (error != std::errc() || stop != end || index >= columns) return {};
  return index;
}

std::string CsvLayout::name_of(size_t column) const {
  return header ? fmt::format("'{}'", names[column]) : fmt::format("column {} (from 0)", column);
}

void RejectedRows::add(const std::filesystem::path& path, const CsvPosition& position,
                       const std::string& problem) {
  std::string text = fmt::format("{}: {}", to_string(path, position), problem);
  if (!skip_)
    fail(Category::data, "{}; correct the row, or set data.on_error: skip to leave such rows out",
         text);
  ++count_;
  if (first_.size() < max_problems) first_.push_back(std::move(text));
}

CsvLayout csv_layout(const std::filesystem::path& path, const CsvConfig& config) {
  CsvLayout layout;
  layout.separator = csv_separator(path, config);
  CsvRecord first = first_record(path, layout.separator);
  layout.columns = first.fields.size();
  if (layout.columns < 2)
    fail(Category::data,
         "{}:1:1: there is only one column, but a table needs features and a target; check "
         "data.csv.separator",
         path.string());
  layout.names = csv_names(first, config);
  layout.header = !layout.names.empty();
  if (!layout.header && config.header == CsvConfig::Header::automatic) check_first_row(path, first);
  layout.target = target_column(config.target, layout, path);
  layout.features = feature_columns(config, layout, path);
  return layout;
}

CsvRows read_csv_rows(const std::filesystem::path& path, const CsvLayout& layout,
                      RejectedRows& rejected) {
  auto reader = open_records(path, layout.separator);
  CsvRecord record;
  if (layout.header && reader->next(record)) check_header(path, record, layout);
  CsvRows rows;
  for (int64_t number = 0; reader->next(record);)
    if (!record.names) append_row(path, layout, record, number++, rows, rejected);
  if (rows.count() == 0)
    fail(Category::data, "{}: contains no good row{}; get an intact copy", path.string(),
         rejected.count() == 0 ? ""
                               : fmt::format(", {} were skipped, the first: {}", rejected.count(),
                                             rejected.first().front()));
  return rows;
}

// A model would learn the order of the file from a column that numbers its rows. Removed are
// features of distinct whole numbers that have no name, or are called id, index, row, "Unnamed: 0"
// or the like.
std::vector<std::string> remove_row_numbers(const std::filesystem::path& path,
                                            const CsvConfig& config, CsvLayout& layout,
                                            CsvRows& rows) {
  std::vector<std::string> notes;
  if (std::ranges::count(config.ignore, "auto") == 0) return notes;
  // From the last feature on, so that a removal does not move those still to come.
  for (size_t feature = layout.features.size(); feature-- > 0;) {
    if (!layout.table[feature].levels.empty() || layout.table[feature].has_dates()) continue;
    size_t column = layout.features[feature];
    std::vector<double> values = values_of(rows, feature, layout.features.size());
    std::string name = layout.name_of(column);
    if (layout.header && names_rows(layout.names[column]) && all_different_whole_numbers(values)) {
      if (layout.features.size() == 1)
        fail(Category::data,
             "{}: the column {} numbers the rows, and there is no other feature; set "
             "data.csv.ignore: [] if it is one",
             path.string(), name);
      remove_feature(feature, layout, rows);
      notes.push_back(fmt::format(
          "{}: the column {} numbers the rows and is left out; data.csv.ignore: [] makes it a "
          "feature",
          path.string(), name));
    } else if (rows.count() >= few_counted_rows && counts_rows(values, rows)) {
      notes.push_back(fmt::format("{}: {} counts the rows; if it is no feature, leave it out by {}",
                                  path.string(), name, ignore_key(layout, column)));
    }
  }
  return notes;
}

}  // namespace spire
