// Table in a CSV file: its columns, good and rejected rows, and the type of its target.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include <spire/run_config.h>

#include "engine/data/formats/csv_reader.h"

namespace spire::inline data {

struct CsvLayout {
  char separator = ',';
  bool header = false;
  std::vector<std::string> names;  // of all columns; empty without a header
  size_t columns = 0, target = 0;  // count of columns, index of the target
  std::vector<size_t> features;    // all columns but the target and ignored ones, ascending

  std::string name_of(size_t column) const;  // "'width'", or "column 3" (from 0)
};

struct CsvRows {
  std::vector<double> features;        // (N, layout.features), finite
  std::vector<std::string> targets;    // (N), trimmed, not empty
  std::vector<CsvPosition> positions;  // (N), of the targets
  std::vector<int64_t> numbers;        // (N), index in the file from 0, rejected rows counted

  size_t count() const { return targets.size(); }
};

// Malformed rows: add() throws Error(data), or counts them with data.on_error: skip.
class RejectedRows {
 public:
  explicit RejectedRows(DataConfig::OnError on_error)
      : skip_(on_error == DataConfig::OnError::skip) {}

  void add(const std::filesystem::path& path, const CsvPosition& position,
           const std::string& problem);
  int64_t count() const { return count_; }
  const std::vector<std::string>& first() const { return first_; }  // max_problems of them

 private:
  bool skip_;
  int64_t count_ = 0;
  std::vector<std::string> first_;
};

// Returns data.csv.separator; auto: the one that splits the first record into the most fields.
char csv_separator(const std::filesystem::path& path, const CsvConfig& config);

// Returns the names in a first record by data.csv.header; empty: it is no header.
std::vector<std::string> csv_names(const CsvRecord& first, const CsvConfig& config);

// Reads the layout from the first record of the training file. Throws Error(config) where the
// target or a column of data.csv.ignore is missing.
CsvLayout csv_layout(const std::filesystem::path& path, const CsvConfig& config);

// Reads all good rows. Throws Error(data) where there is none, or the header differs.
CsvRows read_csv_rows(const std::filesystem::path& path, const CsvLayout& layout,
                      RejectedRows& rejected);

// Removes columns that number the rows (data.csv.ignore: auto). Returns a note on each, and on
// those that stay though they count the rows. Throws Error(data) where no feature remains.
std::vector<std::string> remove_row_numbers(const std::filesystem::path& path,
                                            const CsvConfig& config, CsvLayout& layout,
                                            CsvRows& rows);

struct CsvTargets {
  bool regression = false;                // else classes
  bool numeric = false;                   // class names are numbers: 1, 01 and 1.0 are one class
  std::vector<std::string> class_names;   // sorted, as numbers or as words
  std::map<std::string, int32_t> labels;  // by class name
};

// Infers the target's type from training rows and data.csv.task. Throws Error(data) for a single
// class, and where auto is ambiguous. Appends warnings to `notes`.
CsvTargets csv_targets(const std::filesystem::path& path, const CsvRows& rows,
                       const CsvConfig& config, std::vector<std::string>& notes);

struct EncodedRow {
  size_t row;       // index in CsvRows
  uint32_t target;  // bits of an int32_t label, or of a float value
};

// Encodes the rows in order. Rejects those whose target is not a number or not a known class.
std::vector<EncodedRow> encode_targets(const std::filesystem::path& path, const CsvRows& rows,
                                       const CsvTargets& targets, RejectedRows& rejected);

// Returns whether row `number` of a file is a test row, the same in every run.
bool is_test_row(int64_t number, double test_share);

// word: the name of a column, or its number from 0.
std::optional<size_t> find_column(const std::string& word, const std::vector<std::string>& names,
                                  size_t columns);

// Parses a finite number, with or without blanks around it; nullopt: it is none.
std::optional<double> finite_number(std::string_view text);
std::string_view trimmed(std::string_view text);

}  // namespace spire::inline data
