// Reader of tables as text, RFC 4180: fields between separators; a quoted field may hold separators
// and line ends, and "" for a quote. Lines end with \n, \r\n or \r; blank ones are passed over. The
// file may be gzip, and may begin with UTF-8's byte order mark.
#pragma once
#include <string>

#include "engine/data/input_file.h"

namespace spire::inline data {

struct CsvPlace {
  int64_t line = 1, column = 1;  // of the file's text, from 1; columns are bytes
};

struct CsvField {
  std::string text;  // unquoted
  CsvPlace place;    // where it begins
};

struct CsvRecord {
  std::vector<CsvField> fields;
  std::string problem;     // empty: well formed; else what is wrong with its quotes
  CsvPlace problem_place;  // where
};

class CsvReader {
 public:
  CsvReader(const std::filesystem::path& path, char separator);

  // The next record, false when there is none. A record with misplaced quotes is given with its
  // problem, and the next one begins on the next line. Throws Error(data) where no further reading
  // makes sense: a quote that is never closed, a field over 1 MiB, a record over 2^20 fields.
  bool next(CsvRecord& record);

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  int peek();  // the next byte, -1 at the end
  int take();
  bool take_line_end();  // false: there is none here
  void read_record(CsvRecord& record);
  void read_quoted(CsvRecord& record, std::string& text);
  void read_plain(CsvRecord& record, std::string& text);
  void append(std::string& text, int byte);
  void note(CsvRecord& record, const char* problem) const;
  [[noreturn]] void give_up(const CsvPlace& place, const std::string& problem) const;

  InputFile file_;
  char separator_;
  std::vector<uint8_t> buffer_;
  size_t at_ = 0, filled_ = 0;
  CsvPlace place_;  // of the next byte
};

// "table.csv:12:7"
std::string to_string(const std::filesystem::path& path, const CsvPlace& place);

}  // namespace spire::inline data
