// Functions that read a table from a file of CSV, Parquet or Arrow: its columns, its rows, and the
// type of its target.
#pragma once
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include <spire/dataset.h>
#include <spire/run_config.h>

#include "engine/data/tables/field_text.h"
#include "engine/data/tables/record_reader.h"

namespace spire {

// Numbers of tables are at most this large, as exported models read them in fp32.
inline constexpr double largest_number = std::numeric_limits<float>::max();

struct CsvLayout {
  char separator = ',';
  bool header = false;
  std::vector<std::string> names;  // of all columns; empty if there is no header
  size_t columns = 0, target = 0;  // number of columns, index of the target column
  std::vector<size_t> features;    // all columns except the target and ignored ones
  std::vector<TableColumn> table;  // how each column of `features` is read
  TableColumn target_column = {};  // form and unit of the target's numbers in the file
  // Index of a column that is read as numbers -> the fields of its training rows that are words.
  std::map<size_t, std::vector<std::string>> odd_words = {};

  std::string name_of(size_t column) const;  // "'width'", or "column 3 (from 0)"
};

struct CsvRows {
  std::vector<double> values;          // (N, layout.table), as field_value() returns them
  std::vector<std::string> targets;    // (N), trimmed, not empty
  std::vector<CsvPosition> positions;  // (N), where the targets are in the file
  std::vector<int64_t> numbers;        // (N), row numbers from 0, which count rejected rows, too

  size_t count() const { return targets.size(); }
};

// Policy for malformed rows: add() throws Error(data), or with data.on_error: skip counts the row.
class RejectedRows {
 public:
  explicit RejectedRows(DataConfig::OnError on_error)
      : skip_(on_error == DataConfig::OnError::skip) {}

  void add(const std::filesystem::path& path, const CsvPosition& position,
           const std::string& problem);
  int64_t count() const { return count_; }
  const std::vector<std::string>& first() const { return first_; }  // at most max_problems texts

 private:
  bool skip_;
  int64_t count_ = 0;
  std::vector<std::string> first_;
};

// Returns data.csv.separator; for auto the separator that splits the first records evenly into the
// most fields, and blanks only if no other separator splits them.
char csv_separator(const std::filesystem::path& path, const CsvConfig& config);

// Returns the column names in the first record; empty if data.csv.header says it is no header.
std::vector<std::string> csv_names(const CsvRecord& first, const CsvConfig& config);

// Reads the layout from the first record of the training file, except CsvLayout::table, which
// find_columns() (csv_columns.h) must fill before rows are read. Throws Error(config) if the target
// or a column in data.csv.ignore does not exist.
CsvLayout csv_layout(const std::filesystem::path& path, const CsvConfig& config);

// Returns the config line that leaves out this column: "data.csv.ignore: [auto, 'x']".
std::string ignore_key(const CsvLayout& layout, size_t column);

// Reads all well-formed rows. Throws Error(data) if there is none or the header differs.
CsvRows read_csv_rows(const std::filesystem::path& path, const CsvLayout& layout,
                      RejectedRows& rejected);

// Returns whether this is a usual name of a column of row numbers or keys: id, index, row,
// Unnamed: 0 (pandas), PassengerId, passenger_id.
bool names_rows(const std::string& name);

// If data.csv.ignore has `auto`, removes columns that names_rows() knows and whose values are
// different whole numbers. Returns a note on each, and on columns that count the rows under other
// names, which stay. Throws Error(data) if no feature remains.
std::vector<std::string> remove_row_numbers(const std::filesystem::path& path,
                                            const CsvConfig& config, CsvLayout& layout,
                                            CsvRows& rows);

struct CsvTargets {
  bool regression = false;                // true: targets are values; false: classes
  bool numeric = false;                   // all are numbers: 1, 01 and 1.0 are one class
  std::vector<std::string> class_names;   // sorted, as numbers or as words
  std::map<std::string, int32_t> labels;  // label of each class name
};

// Infers the target's type from the training rows and data.csv.task. Throws Error(data) for a
// single class, and if task is auto and the type ambiguous. Appends warnings to `notes`.
CsvTargets csv_targets(const std::filesystem::path& path, const CsvRows& rows,
                       const CsvConfig& config, std::vector<std::string>& notes);
// Returns the targets of a trained model; rows may lack some of its classes.
CsvTargets trained_targets(const SampleSpec& trained);

struct EncodedRow {
  size_t row;       // index in CsvRows
  uint32_t target;  // the bits of an int32_t label or of a float value
};

// Encodes the targets in order. Rejects rows whose target is not a number or a known class.
std::vector<EncodedRow> encode_targets(const std::filesystem::path& path, const CsvRows& rows,
                                       const CsvTargets& targets, RejectedRows& rejected);

// If `all` is `names` with one more column, returns that column; else nullopt.
std::optional<std::string> column_that_lacks(const std::vector<std::string>& names,
                                             const std::vector<std::string>& all);

// Returns the index of a column; nullopt if there is none. word: its name, or its number from 0.
std::optional<size_t> find_column(const std::string& word, const std::vector<std::string>& names,
                                  size_t columns);

}  // namespace spire
