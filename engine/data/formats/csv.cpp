#include "engine/data/formats/csv.h"

#include <spire/error.h>

namespace spire::inline data {
namespace {

constexpr size_t buffer_bytes = size_t{64} << 10;
constexpr size_t max_field_bytes = size_t{1} << 20;
constexpr size_t max_fields = size_t{1} << 20;

}  // namespace

std::string to_string(const std::filesystem::path& path, const CsvPlace& place) {
  return fmt::format("{}:{}:{}", path.string(), place.line, place.column);
}

CsvReader::CsvReader(const std::filesystem::path& path, char separator)
    : file_(path), separator_(separator), buffer_(buffer_bytes) {
  filled_ = file_.read(buffer_);
  if (filled_ >= 3 && buffer_[0] == 0xef && buffer_[1] == 0xbb && buffer_[2] == 0xbf) at_ = 3;
}

bool CsvReader::next(CsvRecord& record) {
  while (take_line_end()) {
  }
  if (peek() < 0) return false;
  read_record(record);
  return true;
}

int CsvReader::peek() {
  if (at_ == filled_) {
    at_ = 0;
    filled_ = file_.read(buffer_);
    if (filled_ == 0) return -1;
  }
  return buffer_[at_];
}

int CsvReader::take() {
  int byte = peek();
  if (byte < 0) return byte;
  ++at_;
  ++place_.column;
  return byte;
}

bool CsvReader::take_line_end() {
  if (peek() != '\n' && peek() != '\r') return false;
  if (take() == '\r' && peek() == '\n') take();
  place_ = {place_.line + 1, 1};
  return true;
}

void CsvReader::read_record(CsvRecord& record) {
  record.fields.clear();
  record.problem.clear();
  while (true) {
    if (record.fields.size() == max_fields)
      give_up(place_, fmt::format("more than {} fields in one record", max_fields));
    CsvField& field = record.fields.emplace_back(CsvField{"", place_});
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

// Up to the separator or line end behind the closing quote.
void CsvReader::read_quoted(CsvRecord& record, std::string& text) {
  CsvPlace open = place_;
  take();
  while (true) {
    if (peek() < 0) give_up(open, "this quote is never closed");
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
  note(record, "text follows a closing quote");
  read_plain(record, text);
}

void CsvReader::read_plain(CsvRecord& record, std::string& text) {
  for (int byte = peek(); byte >= 0 && byte != separator_ && byte != '\n' && byte != '\r';
       byte = peek()) {
    if (byte == '"') note(record, "a quote inside a field that does not begin with one");
    append(text, take());
  }
}

void CsvReader::append(std::string& text, int byte) {
  if (text.size() == max_field_bytes)
    give_up(place_, fmt::format("a field of more than {} bytes", max_field_bytes));
  text += static_cast<char>(byte);
}

void CsvReader::note(CsvRecord& record, const char* problem) const {
  if (!record.problem.empty()) return;
  record.problem = problem;
  record.problem_place = place_;
}

void CsvReader::give_up(const CsvPlace& place, const std::string& problem) const {
  fail(Category::data, "{}: {}; correct the file", to_string(file_.path(), place), problem);
}

}  // namespace spire::inline data
