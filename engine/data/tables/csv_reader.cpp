#include "engine/data/tables/csv_reader.h"

#include <spire/error.h>

namespace spire::inline data {
namespace {

constexpr size_t csv_buffer_bytes = size_t{64} << 10;
// Bounds of memory for files that are no tables.
constexpr size_t max_field_bytes = size_t{1} << 20;
constexpr size_t max_fields = size_t{1} << 20;

}  // namespace

CsvReader::CsvReader(const std::filesystem::path& path, char separator)
    : file_(path), separator_(separator), buffer_(csv_buffer_bytes) {
  filled_ = file_.read(buffer_);
  // Skips the byte order mark, which Excel writes.
  if (filled_ >= 3 && buffer_[0] == 0xef && buffer_[1] == 0xbb && buffer_[2] == 0xbf) offset_ = 3;
}

bool CsvReader::next(CsvRecord& record) {
  // Skips empty lines.
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

// Takes \n, \r or \r\n as one line end.
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
    record.fields.push_back({"", position_});
    read_field(record, record.fields.back().text);
    if (peek() == separator_) {
      take();
    } else if (take_line_end() || peek() < 0) {
      return;
    }
  }
}

// Reads to the next separator or line end outside of quotes; line ends within become \n.
void CsvReader::read_field(CsvRecord& record, std::string& text) {
  CsvPosition open = position_;
  bool begins_quoted = peek() == '"', quoted = begins_quoted;
  if (quoted) take();
  while (true) {
    int byte = peek();
    bool line_end = byte == '\n' || byte == '\r';
    if (quoted && byte < 0) refuse(open, "this quote is never closed");
    if (!quoted && (byte < 0 || line_end || byte == separator_)) return;
    if (line_end) {
      append(text, '\n');
      take_line_end();
    } else if (quoted && byte == '"') {
      take();
      quoted = peek() == '"';  // "" is a quote, a single one closes
      if (quoted) append(text, take());
    } else {
      if (!quoted && begins_quoted) note_problem(record, "text follows a closing quote");
      if (!quoted && byte == '"')
        note_problem(record, "a quote inside a field that does not begin with one");
      append(text, take());
    }
  }
}

void CsvReader::append(std::string& text, int byte) {
  if (text.size() == max_field_bytes)
    refuse(position_, fmt::format("a field of more than {} bytes", max_field_bytes));
  text += static_cast<char>(byte);
}

// Keeps the first problem of a record: later ones follow from it.
void CsvReader::note_problem(CsvRecord& record, const char* problem) const {
  if (!record.problem.empty()) return;
  record.problem = problem;
  record.problem_position = position_;
}

void CsvReader::refuse(const CsvPosition& position, const std::string& problem) const {
  fail(Category::data, "{}: {}; correct the file", to_string(file_.path(), position), problem);
}

}  // namespace spire::inline data
