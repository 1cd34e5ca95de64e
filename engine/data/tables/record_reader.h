// Records of a table, whatever its file: fields of text and their places.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace spire::inline data {

// Line and column of CSV text; row and column of an Arrow table, whose names are row 0.
struct CsvPosition {
  int64_t line = 1, column = 1;  // both count from 1; columns of text count bytes
};

struct CsvField {
  std::string text;  // without its quotes
  CsvPosition position;
};

struct CsvRecord {
  std::vector<CsvField> fields;
  bool names = false;   // the format says that these are the columns' names
  std::string problem;  // says where quotes are misplaced; empty if the record is well formed
  CsvPosition problem_position;
};

class RecordReader {
 public:
  virtual ~RecordReader() = default;
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  // Reads the next record; returns false at the end of the file. Throws Error(data).
  virtual bool next(CsvRecord& record) = 0;

 protected:
  RecordReader() = default;
};

// Whether a file is one of Parquet or Arrow, by its name: *.parquet, *.arrow, *.feather or *.ipc,
// also with .gz behind it, which open_records() refuses.
bool is_arrow_file(const std::filesystem::path& path);

// Returns the names of the tables in a folder, by their endings; of several files of one name only
// the first of .csv, .csv.gz, .tsv, .tsv.gz, .parquet and so on.
std::vector<std::string> tables_in(const std::filesystem::path& folder);

// Returns the name of a table's file without its endings: "train" of "train.csv.gz".
std::string table_stem(const std::string& name);

// Opens CSV text, or by its name a Parquet or Arrow file. separator: of CSV text. Throws
// Error(data), also from next(), for text that is not UTF-8.
std::unique_ptr<RecordReader> open_records(const std::filesystem::path& path, char separator);

// Returns file, line and column: "table.csv:12:7".
std::string to_string(const std::filesystem::path& path, const CsvPosition& position);

}  // namespace spire::inline data
