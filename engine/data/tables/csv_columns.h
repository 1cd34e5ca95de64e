// How the columns of a CSV file become features: columns of numbers, columns of words, and empty
// fields.
#pragma once
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>

#include "engine/data/tables/csv_table.h"
#include "engine/data/tables/field_text.h"

namespace spire {

// Returns the value of a field: its number; in a column of words the index of its level, or -1 if
// it is no level; for an empty field column.blank, or the index of the level "". nullopt: the field
// is an error.
std::optional<double> field_value(const TableColumn& column, std::string_view text);

// Returns why field_value() returns nullopt: "'two' is not a finite number".
std::string refusal_of(const TableColumn& column, std::string_view text);

// Returns the columns that make the features of a spec; for a spec without them (of an older
// checkpoint) one column of numbers per feature.
std::vector<TableColumn> table_columns(const SampleSpec& spec);

// Returns the names of the features; of words "column=level", of dates "column.year" and so on.
std::vector<std::string> feature_names(std::span<const TableColumn> table);

// Finds in the training rows of the file which columns of layout.features have words, and their
// levels or the form of their numbers, and sets layout.table and the target's form; empty numbers
// count as NaN, which fill_blanks() replaces. With data.csv.ignore: auto and a header it leaves out
// columns whose fields are all empty, and columns whose words mark single rows, and appends notes
// on them. Throws Error(data) for a column with more different words than data.csv.max_levels.
void find_columns(const std::filesystem::path& path, const CsvConfig& config,
                  const std::function<bool(int64_t number)>& is_training, CsvLayout& layout,
                  std::vector<std::string>& notes);

// Returns how a run reads the fields of every column of the file, also of columns that it leaves
// out; columns of words have the form plain. Marks of empty fields are those of `config`.
std::vector<TableColumn> column_forms(const std::filesystem::path& path, const CsvConfig& config,
                                      const CsvLayout& layout);

// Takes the columns that a trained model reads, in its order and as it reads them. Returns false,
// and changes nothing, where the file lacks some. The marks of empty fields are those of `config`.
bool take_trained_columns(const SampleSpec& trained, const CsvConfig& config, CsvLayout& layout);

// Sets the number that empty fields of each column count as, by data.csv.blanks, from the rows
// `training`. Appends notes on columns that have empty fields.
void choose_blanks(const CsvConfig& config, const CsvRows& rows,
                   std::span<const EncodedRow> training, CsvLayout& layout,
                   std::vector<std::string>& notes);
void fill_blanks(const CsvLayout& layout, CsvRows& rows);

// Writes the features of a row. values: one per column, as field_value() returns them. by: the
// features' normalization; empty: none. T: double, or a type of with_any_float_type().
template <typename T>
void write_features(std::span<const TableColumn> table, std::span<const double> values,
                    const Normalization& by, T* out) {
  size_t feature = 0;
  // Rounded to float before bf16 or f16, so that these are roundings of the f32 features.
  auto put = [&](double x) {
    if (!by.mean.empty()) x = (x - by.mean[feature]) / by.stddev[feature];
    if constexpr (std::is_same_v<T, double>) {
      out[feature++] = x;
    } else {
      out[feature++] = T(static_cast<float>(x));
    }
  };
  for (size_t column = 0; column < table.size(); ++column) {
    size_t levels = table[column].levels.size();
    if (table[column].has_dates()) {
      for (double part : parts_of_date(values[column])) put(part);
    } else if (levels == 0) {
      put(values[column]);
    }
    for (size_t level = 0; level < levels; ++level)
      put(values[column] == static_cast<double>(level) ? 1 : 0);
  }
}

// Returns the first column of which write_features() has written a feature that is not finite.
template <typename T>
std::optional<size_t> infinite_column(std::span<const TableColumn> table, const T* features) {
  using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
  for (size_t column = 0; column < table.size(); ++column)
    for (int64_t f = 0; f < table[column].features(); ++f)
      if (!std::isfinite(static_cast<Number>(*features++))) return column;
  return {};
}

}  // namespace spire
