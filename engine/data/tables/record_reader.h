// Records of a table, whatever its file: fields of text and their places.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/data/input_file.h"

namespace spire {

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

// Returns whether a file is a Parquet or Arrow file, by its name: *.parquet, *.arrow, *.feather or
// *.ipc, also with .gz added, which open_records() refuses.
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

// Reader of CSV records (RFC 4180): fields between separators; a quoted field may contain
// separators, line ends, and "" for a quote. Lines end with \n, \r\n or \r; empty lines and
// rows of separators alone are skipped. The file may be compressed by gzip, and may begin with
// UTF-8's byte order mark, and with Excel's line sep=; which says the separator. The separator ' '
// stands for any number of blanks and tabs; a header may then begin with # and a blank.
class CsvReader final : public RecordReader {
 public:
  // Throws Error(data) for text in UTF-16 or UTF-32.
  CsvReader(const std::filesystem::path& path, char separator);

  // Reads the next record; returns false at the end of the file. After misplaced quotes it sets
  // `problem` and goes on at the next line. Throws Error(data) for a quote that is never closed, a
  // field over 1 MiB or a record of over 2^20 fields.
  bool next(CsvRecord& record) override;

 private:
  int peek();  // returns the next byte; -1 at the end
  int take();  // returns the next byte and moves past it
  bool is_separator(int byte) const;
  void skip_blanks();  // between fields that blanks separate
  void take_first_line();
  bool take_line_end();  // moves past a line end; returns false if there is none here
  void read_record(CsvRecord& record);
  void read_field(CsvRecord& record, std::string& text);
  void append(std::string& text, int byte);
  void note_problem(CsvRecord& record, const char* problem) const;
  [[noreturn]] void refuse(const CsvPosition& position, const std::string& problem) const;

  InputFile file_;
  char separator_;
  std::vector<uint8_t> buffer_;
  size_t offset_ = 0, filled_ = 0;  // next byte of buffer_, end of its content
  CsvPosition position_;            // of the next byte
};

// Tables in Parquet files and in Arrow's IPC files (Feather version 2, and streams), by Apache
// Arrow. A build without it refuses them, and says so.

// Opens the file. Its first record is the columns' names. A field is what a CSV file would have:
// the shortest text of a number, "true" and "false", an ISO date, a word of a dictionary, and
// nothing for a null or a NaN. Record batches are read one by one. Throws Error(data), also from
// next(), for a damaged file, and FileChanged for one that is written meanwhile.
std::unique_ptr<RecordReader> open_arrow_records(const std::filesystem::path& path);

// Calls use(row, text) for each row, from 1 on, of the column `column`, except nulls and empty
// texts. Throws Error(data) if there is no such column, or if its values are no texts.
using UseArrowText = std::function<void(int64_t row, const std::string& text)>;
void for_each_arrow_text(const std::filesystem::path& path, const std::string& column,
                         const UseArrowText& use);

}  // namespace spire
