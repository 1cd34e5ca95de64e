#include "tools/dataset/dataset_facts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/data/input_file.h"
#include "engine/data/part_names.h"
#include "engine/data/tables/csv_columns.h"
#include "engine/data/tables/csv_table.h"
#include "engine/data/tables/record_reader.h"

namespace spire {
namespace {

constexpr size_t most_different = 100, shown_words = 3;

struct FieldCounts {
  int64_t numbers = 0, words = 0, blanks = 0;
  bool whole = true;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::string lowest = {}, highest = {};    // as they are written
  std::set<double> different_numbers = {};  // one more than most_different at most
  std::set<std::string> different_words = {};

  void add(const TableColumn& column, const std::string& text) {
    std::optional<double> number = number_in(column, text);
    if (is_blank(text, column.marks)) {
      ++blanks;
    } else if (!number) {
      ++words;
      if (different_words.size() <= most_different) different_words.emplace(trimmed(text));
    } else {
      ++numbers;
      whole = whole && std::trunc(*number) == *number;
      if (*number < low) lowest = trimmed(text);
      if (*number > high) highest = trimmed(text);
      low = std::min(low, *number);
      high = std::max(high, *number);
      if (different_numbers.size() <= most_different) different_numbers.insert(*number);
    }
  }
};

std::string different_text(size_t different) {
  if (different > most_different) return fmt::format("over {} different", most_different);
  return fmt::format("{} different", different);
}

std::string words_text(const FieldCounts& counts) {
  return quoted_list({counts.different_words.begin(), counts.different_words.end()}, shown_words);
}

// "whole numbers, 3 different from 1 to 3", "dates, 2 different from 2024-01-05 to 2024-02-01"
std::string numbers_text(const TableColumn& column, const FieldCounts& counts) {
  std::string different = different_text(counts.different_numbers.size());
  if (column.has_dates() || column.form == FieldForm::time)
    return fmt::format("{}, {} from {} to {}", column.has_dates() ? "dates" : "times of day",
                       different, counts.lowest, counts.highest);
  return fmt::format("{}, {} from {:.6g} to {:.6g}", counts.whole ? "whole numbers" : "numbers",
                     different, counts.low, counts.high);
}

// "whole numbers, 3 different from 1 to 3; 2 empty"
std::string type_text(const TableColumn& column, const FieldCounts& counts) {
  std::string text = "words, ";
  if (counts.numbers + counts.words == 0) return "empty";
  if (counts.numbers == 0) {
    text +=
        fmt::format("{} ({})", different_text(counts.different_words.size()), words_text(counts));
  } else {
    text = numbers_text(column, counts);
    if (counts.words > 0)
      text += fmt::format("; {} ({})", counted(counts.words, "word"), words_text(counts));
  }
  if (counts.blanks > 0) text += fmt::format("; {} empty", counts.blanks);
  return text;
}

std::filesystem::path training_file(const DataConfig& config) {
  std::error_code error;
  if (!std::filesystem::is_directory(config.path, error)) return existing_input(config.path);
  PartNames parts = choose_parts(config.path, tables_in(config.path), config.val, table_stem);
  return parts.train.empty() ? "" : std::filesystem::path(config.path) / parts.train;
}

}  // namespace

std::vector<TableColumnFacts> table_facts(const DataConfig& config) {
  if (config.name != "csv" || config.path == "auto") return {};
  std::filesystem::path file = training_file(config);
  if (file.empty()) return {};
  CsvLayout layout = csv_layout(file, config.csv);
  std::vector<FieldCounts> counts(layout.columns);
  std::vector<TableColumn> forms = column_forms(file, config.csv, layout);
  auto reader = open_records(file, layout.separator);
  CsvRecord record;
  if (layout.header) reader->next(record);
  while (reader->next(record))
    for (size_t c = 0; c < std::min(counts.size(), record.fields.size()); ++c)
      counts[c].add(forms[c], record.fields[c].text);
  std::vector<TableColumnFacts> columns;
  for (size_t c = 0; c < layout.columns; ++c)
    columns.push_back({.name = layout.header ? layout.names[c] : std::to_string(c),
                       .type = type_text(forms[c], counts[c]),
                       .role = c == layout.target ? "target" : ""});
  return columns;
}

std::optional<UnlabelledTest> find_unlabelled_test(const DataConfig& config) {
  std::error_code error;
  if (config.name != "csv" || !std::filesystem::is_directory(config.path, error)) return {};
  PartNames parts = choose_parts(config.path, tables_in(config.path), config.val, table_stem);
  if (parts.train.empty() || parts.test.empty()) return {};
  std::filesystem::path folder = config.path;
  auto names_of = [&](const std::string& name) {
    CsvRecord first;
    open_records(folder / name, csv_separator(folder / name, config.csv))->next(first);
    return first.fields.empty() ? std::vector<std::string>() : csv_names(first, config.csv);
  };
  std::vector<std::string> all = names_of(parts.train);
  std::optional<std::string> column = column_that_lacks(names_of(parts.test), all);
  const std::string& target = config.csv.target;
  if (!column || (target != "last" && target != *column)) return {};
  return UnlabelledTest{folder / parts.train, folder / parts.test, *column, *column == all.back()};
}

void set_roles(const SampleSpec& spec, std::vector<TableColumnFacts>& columns) {
  // Without a header no column is left out but by data.csv.ignore, and features have no names.
  if (spec.feature_names.empty()) return;
  for (TableColumnFacts& column : columns)
    if (column.role.empty())
      column.role = std::ranges::count(spec.table, column.name, &TableColumn::name) > 0
                        ? "feature"
                        : "left out";
}

DatasetFacts dataset_facts(const DataConfig& config) {
  DatasetFacts facts{.data = {.name = config.name, .spec = {}, .train = {}, .test = {}},
                     .table = table_facts(config)};
  nlohmann::ordered_json json = {{"name", config.name}};
  try {
    facts.data = describe_dataset(config);
    json = nlohmann::ordered_json::parse(to_json(facts.data));
    set_roles(facts.data.spec, facts.table);
  } catch (const Error& error) {
    if (facts.table.empty() || error.category() != Category::data) throw;
    json["refused"] = facts.refused = error.what();
  }
  for (const TableColumnFacts& column : facts.table)
    json["table"].push_back({{"name", column.name}, {"type", column.type}, {"role", column.role}});
  facts.json = json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  return facts;
}

}  // namespace spire
