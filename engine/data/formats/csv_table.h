// A table's rows as numbers and targets: which column is what, and which rows are good.
#pragma once
#include <filesystem>
#include <optional>
#include <string_view>

#include <spire/run_config.h>

#include "engine/data/formats/csv.h"

namespace spire::inline data {

// What the training file says about the columns.
struct CsvLayout {
  char separator = ',';
  bool header = false;
  std::vector<std::string> names;  // of all columns; empty without a header
  size_t columns = 0, target = 0;
  std::vector<size_t> features;  // the columns that are neither the target nor left out, ascending

  std::string name_of(size_t column) const;  // "'width'", or "column 3" (from 0)
};

struct CsvRows {
  std::vector<double> features;      // (N, layout.features), finite
  std::vector<std::string> targets;  // (N), without blanks around, not empty
  std::vector<CsvPlace> places;      // (N), of the targets
  std::vector<int64_t> numbers;      // (N): of the row in its file, from 0, broken ones counted

  size_t count() const { return targets.size(); }
};

// Rows that are not as they should be: data.on_error says whether the first one is thrown as
// Error(data), or all are counted and left out.
class BrokenRows {
 public:
  explicit BrokenRows(DataConfig::OnError on_error)
      : skip_(on_error == DataConfig::OnError::skip) {}

  void add(const std::filesystem::path& path, const CsvPlace& place, const std::string& problem);
  int64_t count() const { return count_; }
  const std::vector<std::string>& first() const { return first_; }  // max_problems of them

 private:
  bool skip_;
  int64_t count_ = 0;
  std::vector<std::string> first_;
};

// data.csv.separator; auto: the one that parts the first record into most fields. Throws
// Error(data) for a file without records.
char csv_separator(const std::filesystem::path& path, const CsvConfig& config);

// The names in a first record, empty when it names no columns; data.csv.header.
std::vector<std::string> csv_names(const CsvRecord& first, const CsvConfig& config);

// From the first record. Throws Error(config) for a target, or a column of data.csv.ignore, that is
// not there.
CsvLayout csv_layout(const std::filesystem::path& path, const CsvConfig& config);

// All good rows. Throws Error(data) when there is none, or when the header is another one.
CsvRows read_csv_rows(const std::filesystem::path& path, const CsvLayout& layout,
                      BrokenRows& broken);

// The column of that name, or number from 0; nothing: there is none.
std::optional<size_t> find_column(const std::string& word, const std::vector<std::string>& names,
                                  size_t columns);

// The finite number that the text is, nothing when it is none. Blanks around it are allowed.
std::optional<double> finite_number(std::string_view text);
std::string_view without_blanks(std::string_view text);

}  // namespace spire::inline data
