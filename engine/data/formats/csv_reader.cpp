#include "engine/data/formats/csv_reader.h"

#include <spire/error.h>

namespace spire::inline data {
namespace {

constexpr size_t buffer_bytes = size_t{64} << 10;
constexpr size_t max_field_bytes = size_t{1} << 20;
constexpr size_t max_fields = size_t{1} << 20;

}  // namespace

std::string to_string(const std::filesystem::path& path, const CsvPosition& position) {
  return fmt::format("{}:{}:{}", path.string(), position.line, position.column);
}

CsvReader::CsvReader(const std::filesystem::path& path, char separator)
    : file_(path), separator_(separator), buffer_(buffer_bytes) {
  filled_ = file_.read(buffer_);
  if (filled_ >= 3 && buffer_[0] == 0xef && buffer_[1] == 0xbb && buffer_[2] == 0xbf) offset_ = 3;
}

bool CsvReader::next(CsvRecord& record) {
  while (take_line_end()) {
  }
  if (peek() < 0) return false;
  read_record(record);
  return true;
}

int CsvReader::peek() {
  if (offset_ == filled_) {
    offset_ = 0;
    filled_ = file_.read(buffer_);
    if (filled_ == 0) return -1;
  }
  return buffer_[offset_];
}

int CsvReader::take() {
  int byte = peek();
  if (byte < 0) return byte;
  ++offset_;
  ++position_.column;
  return byte;
}

bool CsvReader::take_line_end() {
  if (peek() != '\n' && peek() != '\r') return false;
  if (take() == '\r' && peek() == '\n') take();
  position_ = {position_.line + 1, 1};
  return true;
}

void CsvReader::read_record(CsvRecord& record) {
  record.fields.clear();
  record.problem.clear();
  while (true) {
    if (record.fields.size() == max_fields)
      refuse(position_, fmt::format("more than {} fields in one record", max_fields));
    CsvField& field = record.fields.emplace_back(CsvField{"", position_});
    if (peek() == '"') {
      read_quoted(record, field.text);
    } else {
      read_plain(record, field.text);
    }
    if (peek() == separator_) {
      take();
    } else if (take_line_end() || peek() < 0) {
      return;
    }
  }
}

// Reads to the separator or line end after the closing quote; line ends within become \n.
void CsvReader::read_quoted(CsvRecord& record, std::string& text) {
  CsvPosition open = position_;
  take();
  while (true) {
    if (peek() < 0) refuse(open, "this quote is never closed");
    if (peek() == '\n' || peek() == '\r') {
      append(text, '\n');
      take_line_end();
      continue;
    }
    int byte = take();
    if (byte == '"' && peek() != '"') break;
    if (byte == '"') take();
    append(text, byte);
  }
  if (peek() == separator_ || peek() == '\n' || peek() == '\r' || peek() < 0) return;
  note_problem(record, "text follows a closing quote");
  read_plain(record, text);
}

void CsvReader::read_plain(CsvRecord& record, std::string& text) {
  for (int byte = peek(); byte >= 0 && byte != separator_ && byte != '\n' && byte != '\r';
       byte = peek()) {
    if (byte == '"') note_problem(record, "a quote inside a field that does not begin with one");
    append(text, take());
  }
}

void CsvReader::append(std::string& text, int byte) {
  if (text.size() == max_field_bytes)
    refuse(position_, fmt::format("a field of more than {} bytes", max_field_bytes));
  text += static_cast<char>(byte);
}

void CsvReader::note_problem(CsvRecord& record, const char* problem) const {
  if (!record.problem.empty()) return;
  record.problem = problem;
  record.problem_position = position_;
}

void CsvReader::refuse(const CsvPosition& position, const std::string& problem) const {
  fail(Category::data, "{}: {}; correct the file", to_string(file_.path(), position), problem);
}

}  // namespace spire::inline data
