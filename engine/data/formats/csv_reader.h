// Reader of CSV records, RFC 4180: fields between separators; a quoted field may hold separators,
// line ends, and "" for a quote. Lines end with \n, \r\n or \r; empty ones are skipped. The file
// may be gzip, and may begin with UTF-8's byte order mark.
#pragma once
#include <string>

#include "engine/data/input_file.h"

namespace spire::inline data {

struct CsvPosition {
  int64_t line = 1, column = 1;  // in the text, from 1; columns are bytes
};

struct CsvField {
  std::string text;  // unquoted
  CsvPosition position;
};

struct CsvRecord {
  std::vector<CsvField> fields;
  std::string problem;  // misplaced quotes; empty: well formed
  CsvPosition problem_position;
};

class CsvReader {
 public:
  CsvReader(const std::filesystem::path& path, char separator);

  // Reads the next record; returns false at the end. One with misplaced quotes has a problem, and
  // reading goes on at the next line. Throws Error(data) for a quote that is never closed, a field
  // over 1 MiB and a record over 2^20 fields.
  bool next(CsvRecord& record);

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  int peek();  // the next byte; -1 at the end
  int take();
  bool take_line_end();  // false: there is none here
  void read_record(CsvRecord& record);
  void read_field(CsvRecord& record, std::string& text);
  void append(std::string& text, int byte);
  void note_problem(CsvRecord& record, const char* problem) const;
  [[noreturn]] void refuse(const CsvPosition& position, const std::string& problem) const;

  InputFile file_;
  char separator_;
  std::vector<uint8_t> buffer_;
  size_t offset_ = 0, filled_ = 0;  // in buffer_
  CsvPosition position_;            // of the next byte
};

// Returns "table.csv:12:7".
std::string to_string(const std::filesystem::path& path, const CsvPosition& position);

}  // namespace spire::inline data
