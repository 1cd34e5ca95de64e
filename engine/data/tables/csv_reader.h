// Reader of CSV records (RFC 4180): fields between separators; a quoted field may contain
// separators, line ends, and "" for a quote. Lines end with \n, \r\n or \r; empty lines and
// rows of separators alone are skipped. The file may be compressed by gzip, and may begin with
// UTF-8's byte order mark, and with Excel's line sep=; which says the separator. Blanks as
// separators are blanks and tabs, any number of them; then a header may begin with # and a blank.
#pragma once
#include <string>

#include "engine/data/input_file.h"
#include "engine/data/tables/record_reader.h"

namespace spire::inline data {

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

}  // namespace spire::inline data
