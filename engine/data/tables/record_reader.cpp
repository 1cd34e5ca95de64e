#include "engine/data/tables/record_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/data/tables/csv_table.h"
#include "engine/data/text/encoding.h"
#include "engine/data/text/vocabulary.h"

namespace spire {
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

// Finds the separator of a table.

constexpr int sampled_records = 20;

struct Candidate {
  CsvConfig::Separator word;
  char separator;
};

// Of equal ones the earlier wins. Blanks come last: they stand in names and texts, too.
constexpr std::array separator_words = {
    Candidate{CsvConfig::Separator::comma, ','}, Candidate{CsvConfig::Separator::semicolon, ';'},
    Candidate{CsvConfig::Separator::tab, '\t'}, Candidate{CsvConfig::Separator::pipe, '|'},
    Candidate{CsvConfig::Separator::space, ' '}};

// What a separator makes of the first records.
struct Trial {
  size_t fields = 0;  // of the first record
  bool even = true;   // all records have as many, at least 2
  bool clean = true;  // no field has one of the other separators, but for decimal commas

  auto rank() const { return std::tuple(even, even && clean, fields); }
};

bool is_clean(std::string_view text, char separator) {
  for (char other : {',', ';', '\t', '|'})
    if (other != separator && text.find(other) != text.npos)
      return other == ',' && written_number(text, FieldForm::comma);
  return true;
}

Trial tried(const std::filesystem::path& path, char separator) {
  Trial trial;
  auto reader = open_records(path, separator);
  CsvRecord record;
  int count = 0;
  try {
    for (; count < sampled_records && reader->next(record); ++count) {
      if (count == 0) trial.fields = record.fields.size();
      if (record.fields.size() != trial.fields || trial.fields < 2) trial.even = false;
      for (const CsvField& field : record.fields)
        trial.clean = trial.clean && (count == 0 || is_clean(field.text, separator));
    }
  } catch (const Error& error) {
    // Quotes that this separator misplaces; what is wrong with the right one is reported by it.
    if (error.category() != Category::data || count == 0) throw;
    trial.even = false;
  }
  if (count == 0) fail(Category::data, "{}: contains no rows; get an intact copy", path.string());
  return trial;
}

constexpr std::array arrow_endings = {".parquet", ".arrow", ".feather", ".ipc"};

// Orders the forms of one table by their endings; nullopt: the file is no table.
std::optional<size_t> rank_of_table(const std::filesystem::path& name) {
  constexpr std::array endings = {".csv", ".tsv"};
  bool packed = lower_case(name.extension().string()) == ".gz";
  std::string end = lower_case((packed ? name.stem() : name).extension().string());
  for (size_t i = 0; i < endings.size(); ++i)
    if (end == endings[i]) return 2 * i + (packed ? 1 : 0);
  auto arrow = std::ranges::find(arrow_endings, name.extension().string());
  if (arrow == arrow_endings.end()) return {};
  return 2 * endings.size() + static_cast<size_t>(arrow - arrow_endings.begin());
}

// Decorates a reader: names and words go into checkpoints, whose texts are UTF-8.
class Utf8Records final : public RecordReader {
 public:
  Utf8Records(std::filesystem::path path, std::unique_ptr<RecordReader> reader)
      : path_(std::move(path)), reader_(std::move(reader)) {}

  bool next(CsvRecord& record) override {
    if (!reader_->next(record)) return false;
    for (const CsvField& field : record.fields)
      if (auto bad = invalid_utf8(field.text)) refuse(field, *bad);
    return true;
  }

 private:
  [[noreturn]] void refuse(const CsvField& field, size_t bad) const {
    std::string place = to_string(path_, field.position);
    if (is_arrow_file(path_))
      fail(Category::data, "{}: the text '{}' is not UTF-8; write the file with texts in UTF-8",
           place, with_bytes_shown(field.text.substr(0, bad + 20)));
    refuse_encoding(path_, place, std::string_view(field.text).substr(bad));
  }

  std::filesystem::path path_;
  std::unique_ptr<RecordReader> reader_;
};

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

char csv_separator(const std::filesystem::path& path, const CsvConfig& config) {
  if (is_arrow_file(path)) return ',';
  char best = ',';
  Trial most;
  most.even = false;
  for (const auto& [word, separator] : separator_words) {
    if (config.separator == word) return separator;
    if (config.separator != CsvConfig::Separator::automatic) continue;
    if (separator == ' ' && most.fields > 1) continue;
    Trial trial = tried(path, separator);
    if (separator == ' ' && !trial.even) continue;
    if (trial.rank() <= most.rank()) continue;
    best = separator;
    most = trial;
  }
  return best;
}

bool is_arrow_file(const std::filesystem::path& path) {
  std::filesystem::path name = path.extension() == ".gz" ? path.stem() : path.filename();
  return std::ranges::find(arrow_endings, name.extension()) != arrow_endings.end();
}

std::vector<std::string> tables_in(const std::filesystem::path& folder) {
  std::map<std::string, std::pair<size_t, std::string>> best;  // by stem: rank and name
  for (const std::filesystem::path& entry : list_folder(folder, Category::data)) {
    std::string name = entry.string();
    std::optional<size_t> rank = rank_of_table(name);
    if (!rank || !is_there(folder / entry)) continue;
    std::pair found(*rank, name);
    auto [other, added] = best.emplace(table_stem(name), found);
    if (!added && found < other->second) other->second = found;
  }
  std::vector<std::string> names;
  for (const auto& [stem, found] : best) names.push_back(found.second);
  return names;
}

std::string table_stem(const std::string& name) {
  std::filesystem::path path = name;
  return (lower_case(path.extension().string()) == ".gz" ? path.stem() : path).stem().string();
}

std::unique_ptr<RecordReader> open_records(const std::filesystem::path& path, char separator) {
  if (is_arrow_file(path)) return std::make_unique<Utf8Records>(path, open_arrow_records(path));
  return std::make_unique<Utf8Records>(path, std::make_unique<CsvReader>(path, separator));
}

std::string to_string(const std::filesystem::path& path, const CsvPosition& position) {
  return fmt::format("{}:{}:{}", path.string(), position.line, position.column);
}

}  // namespace spire
