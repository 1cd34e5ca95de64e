#include "engine/data/tables/csv_reader.h"

#include <algorithm>
#include <string_view>

#include <spire/error.h>

#include "engine/data/text/encoding.h"

namespace spire::inline data {
namespace {

constexpr size_t csv_buffer_bytes = size_t{64} << 10;
// Bounds of memory for files that are no tables.
constexpr size_t max_field_bytes = size_t{1} << 20;
constexpr size_t max_fields = size_t{1} << 20;

// Whether a row has nothing between its separators, as spreadsheets write an empty row. A quoted
// field is something.
bool is_bare(const CsvRecord& record) {
  const CsvPosition& first = record.fields.front().position;
  for (size_t i = 0; i < record.fields.size(); ++i) {
    const CsvField& field = record.fields[i];
    if (!field.text.empty() || field.position.line != first.line ||
        field.position.column != first.column + static_cast<int64_t>(i))
      return false;
  }
  return record.fields.size() > 1;
}

}  // namespace

CsvReader::CsvReader(const std::filesystem::path& path, char separator)
    : file_(path), separator_(separator), buffer_(csv_buffer_bytes) {
  filled_ = file_.read(buffer_);
  take_first_line();
}

// Takes what is no record at the head of the file: a byte order mark, the line sep=; or "sep=;",
// and before names between blanks the mark of a comment.
void CsvReader::take_first_line() {
  std::string_view begin(reinterpret_cast<const char*>(buffer_.data()), filled_);
  require_text(file_.path(), begin);
  if (begin.starts_with(byte_order_mark)) offset_ = byte_order_mark.size();
  begin.remove_prefix(offset_);
  size_t quote = begin.starts_with('"') ? 1 : 0;
  std::string_view line = begin.substr(0, begin.find_first_of("\r\n"));
  std::string_view key = line.substr(std::min(quote, line.size()), 4);
  if ((key == "sep=" || key == "SEP=") && line.size() == key.size() + 1 + 2 * quote) {
    separator_ = line[quote + key.size()];
    offset_ += line.size();
    take_line_end();
  } else if (separator_ == ' ' && begin.starts_with("# ")) {
    take();
  }
}

bool CsvReader::is_separator(int byte) const {
  return byte == separator_ || (separator_ == ' ' && byte == '\t');
}

void CsvReader::skip_blanks() {
  if (separator_ == ' ')
    while (is_separator(peek())) take();
}

bool CsvReader::next(CsvRecord& record) {
  // Skips empty lines, and rows of separators alone.
  while (true) {
    do {
      skip_blanks();
    } while (take_line_end());
    if (peek() < 0) return false;
    read_record(record);
    if (!is_bare(record)) return true;
  }
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
    if (is_separator(peek())) {
      take();
      skip_blanks();
      bool ends = peek() < 0 || peek() == '\n' || peek() == '\r';
      if (separator_ != ' ' || !ends) continue;  // blanks at the end of a line separate nothing
    }
    if (take_line_end() || peek() < 0) return;
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
    if (!quoted && (byte < 0 || line_end || is_separator(byte))) return;
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
