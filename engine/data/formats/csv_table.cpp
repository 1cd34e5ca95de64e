#include "engine/data/formats/csv_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <spire/error.h>

#include "engine/base/message_words.h"
#include "engine/data/dataset.h"

namespace spire::inline data {
namespace {

CsvRecord first_record(const std::filesystem::path& path, char separator) {
  CsvRecord record;
  if (!CsvReader(path, separator).next(record))
    fail(Category::data, "{}: contains no rows; get an intact copy", path.string());
  return record;
}

bool is_header(const CsvRecord& record, CsvConfig::Header header) {
  if (header != CsvConfig::Header::automatic) return header == CsvConfig::Header::yes;
  // One name may be missing: programs that write row numbers leave their column's name out.
  auto is_empty = [](const CsvField& field) { return without_blanks(field.text).empty(); };
  auto is_number = [](const CsvField& field) { return finite_number(field.text).has_value(); };
  return std::ranges::none_of(record.fields, is_number) &&
         std::ranges::count_if(record.fields, is_empty) <= 1;
}

std::vector<std::string> names_in(const CsvRecord& record) {
  std::vector<std::string> names;
  for (const CsvField& field : record.fields) names.emplace_back(without_blanks(field.text));
  return names;
}

[[noreturn]] void fail_missing(const char* key, const std::string& word, const CsvLayout& layout,
                               const std::filesystem::path& path) {
  fail(Category::config, "data.csv.{}: {} has no column '{}'; {}{}", key, path.string(), word,
       layout.header ? fmt::format("must be one of: {}", fmt::join(layout.names, ", "))
                     : fmt::format("it has no header, so use 0 to {}", layout.columns - 1),
       did_you_mean(nearest(word, layout.names)));
}

size_t target_column(const std::string& target, const CsvLayout& layout,
                     const std::filesystem::path& path) {
  if (auto found = find_column(target, layout.names, layout.columns)) return *found;
  if (target == "last") return layout.columns - 1;
  fail_missing("target", target, layout, path);
}

// All columns but the target and those that data.csv.ignore names.
std::vector<size_t> feature_columns(const CsvConfig& config, const CsvLayout& layout,
                                    const std::filesystem::path& path) {
  std::vector<bool> used(layout.columns, true);
  for (const std::string& word : config.ignore) {
    if (word == "auto") continue;
    std::optional<size_t> column = find_column(word, layout.names, layout.columns);
    if (!column) fail_missing("ignore", word, layout, path);
    if (*column == layout.target)
      fail(Category::config, "data.csv.ignore: {} is the target; see data.csv.target",
           layout.name_of(*column));
    used[*column] = false;
  }
  used[layout.target] = false;
  std::vector<size_t> features;
  for (size_t column = 0; column < layout.columns; ++column)
    if (used[column]) features.push_back(column);
  if (features.empty())
    fail(Category::config, "data.csv.ignore: leaves {} no column as a feature; name fewer",
         path.string());
  return features;
}

void check_header(const std::filesystem::path& path, const CsvRecord& record,
                  const CsvLayout& layout) {
  std::vector<std::string> names = names_in(record);
  if (names == layout.names) return;
  fail(Category::data,
       "{}:1:1: the columns are {}, but those of the training file are {}; use files of one set",
       path.string(), fmt::join(names, ", "), fmt::join(layout.names, ", "));
}

// Appends the row, or says what is wrong with it.
void append_row(const std::filesystem::path& path, const CsvLayout& layout, const CsvRecord& record,
                int64_t number, CsvRows& rows, BrokenRows& broken) {
  if (!record.problem.empty()) return broken.add(path, record.problem_place, record.problem);
  if (record.fields.size() != layout.columns)
    return broken.add(path, record.fields.back().place,
                      fmt::format("{} fields, expected {}", record.fields.size(), layout.columns));
  size_t before = rows.features.size();
  for (size_t c : layout.features) {
    const CsvField& field = record.fields[c];
    std::optional<double> value = finite_number(field.text);
    if (value) {
      rows.features.push_back(*value);
      continue;
    }
    rows.features.resize(before);
    return broken.add(path, field.place,
                      fmt::format("{}: '{}' is not a finite number", layout.name_of(c),
                                  std::string_view(field.text).substr(0, 40)));
  }
  const CsvField& target = record.fields[layout.target];
  std::string_view text = without_blanks(target.text);
  if (text.empty()) {
    rows.features.resize(before);
    return broken.add(path, target.place,
                      fmt::format("{}: the target is empty", layout.name_of(layout.target)));
  }
  rows.targets.emplace_back(text);
  rows.places.push_back(target.place);
  rows.numbers.push_back(number);
}

}  // namespace

char csv_separator(const std::filesystem::path& path, const CsvConfig& config) {
  using Separator = CsvConfig::Separator;
  constexpr std::array names = {Separator::comma, Separator::semicolon, Separator::tab};
  constexpr std::array candidates = {',', ';', '\t'};
  size_t best = 0, most = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (config.separator == names[i]) return candidates[i];
    size_t fields = first_record(path, candidates[i]).fields.size();
    if (fields > most) best = i;
    most = std::max(most, fields);
  }
  return candidates[best];
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

void BrokenRows::add(const std::filesystem::path& path, const CsvPlace& place,
                     const std::string& problem) {
  std::string text = fmt::format("{}: {}", to_string(path, place), problem);
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
  layout.target = target_column(config.target, layout, path);
  layout.features = feature_columns(config, layout, path);
  return layout;
}

CsvRows read_csv_rows(const std::filesystem::path& path, const CsvLayout& layout,
                      BrokenRows& broken) {
  CsvReader reader(path, layout.separator);
  CsvRecord record;
  if (layout.header && reader.next(record)) check_header(path, record, layout);
  CsvRows rows;
  for (int64_t number = 0; reader.next(record); ++number)
    append_row(path, layout, record, number, rows, broken);
  if (rows.count() == 0)
    fail(Category::data, "{}: contains no good row{}; get an intact copy", path.string(),
         broken.count() == 0 ? ""
                             : fmt::format(", {} were skipped, the first: {}", broken.count(),
                                           broken.first().front()));
  return rows;
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::optional<double> finite_number(std::string_view text) {
  text = without_blanks(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

}  // namespace spire::inline data
