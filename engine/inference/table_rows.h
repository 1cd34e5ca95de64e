// CSV files as rows of the features that a model reads.
#pragma once
#include "engine/data/formats/csv_table.h"
#include "engine/inference/input_rows.h"

namespace spire::inline inference {

// Features are found by the names in the file's header; a note says which columns are not read. A
// model that knows no names takes the columns in their order: as many as it has features, or one
// more, of which data.csv.target is the target then. Fields must be finite numbers.
class TableRows : public InputRows {
 public:
  // config: separator, header and target of the files.
  TableRows(std::vector<ListedInput> files, const SampleSpec& spec, CsvConfig config,
            InputReport report);

  std::vector<RowOrigin> read(int64_t most, std::byte* rows) override;

 private:
  void open(const std::filesystem::path& path);
  void choose_columns(const std::filesystem::path& path);
  void choose_by_name(const std::filesystem::path& path, const std::vector<std::string>& names);
  void choose_by_place(const std::filesystem::path& path, size_t columns);
  bool names_all_features(const CsvRecord& record) const;
  std::optional<RowOrigin> read_next(std::byte* row);
  void write_row(std::byte* row) const;
  [[noreturn]] void refuse(const CsvPosition& place, const std::string& problem) const;

  std::vector<ListedInput> files_;
  SampleSpec spec_;
  CsvConfig config_;
  InputReport report_;

  size_t next_ = 0;                  // of files_
  std::optional<CsvReader> reader_;  // of files_[next_ - 1], while it has rows
  CsvRecord record_;
  bool waiting_ = false;         // record_ is a row that has not been given out
  size_t fields_ = 0;            // of a row
  std::vector<size_t> columns_;  // (F): the column of each feature
  int64_t row_ = 0;              // of the next record
};

}  // namespace spire::inline inference
