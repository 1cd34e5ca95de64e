#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <spire/tensor.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/data/inputs/file_reader.h"
#include "engine/data/tables/csv_columns.h"

namespace spire {
namespace {

// Returns the target's column: data.csv.target where that is a number, else the last column.
size_t target_place(const std::string& target, size_t columns) {
  size_t place = 0;
  const char* end = target.data() + target.size();
  auto [stop, error] = std::from_chars(target.data(), end, place);
  return error == std::errc() && stop == end && place < columns ? place : columns - 1;
}

// Finds features by the names in a file's header; a note names the columns it ignores. A model
// without feature names takes columns in their order: as many as it has features, or one more, of
// which data.csv.target is the target. Fields must be finite numbers.
class TableReader : public FileReader {
 public:
  explicit TableReader(const InputContext& context);

  void open(const std::filesystem::path& path) override;
  std::optional<RowOrigin> next(std::byte* row) override;

 private:
  bool read_record();
  void choose_columns();
  void choose_by_name(const std::vector<std::string>& names);
  void choose_by_place(size_t columns);
  void find_target(const std::vector<std::string>& names, const std::vector<bool>& taken);
  bool names_all_features(const CsvRecord& record) const;
  std::vector<std::string> names_read() const;
  void write_row(std::byte* row);
  void note_unknown_word(size_t column, const std::string& word);
  [[noreturn]] void refuse_infinite(size_t column) const;
  std::string name_of(size_t column) const;
  void add_truth(RowOrigin& origin) const;
  [[noreturn]] void refuse(const CsvPosition& place, const std::string& problem) const;

  const SampleSpec& spec_;
  const CsvConfig& config_;
  const InputReport& report_;
  std::vector<TableColumn> table_;  // what the model reads

  std::filesystem::path path_;            // of the open file
  std::unique_ptr<RecordReader> reader_;  // of the open file, while it has rows
  CsvRecord record_;
  bool waiting_ = false;          // record_ is a row that was read ahead
  size_t fields_ = 0;             // fields per row
  std::vector<size_t> columns_;   // of the file: the one of each column of table_
  std::optional<size_t> target_;  // of the file: the column of the target, if it is there
  std::vector<double> values_;    // of a row, one a column of table_
  std::vector<bool> noted_;       // columns of table_ of which an unknown word was noted
  int64_t row_ = 0;               // of the next record
};

TableReader::TableReader(const InputContext& context)
    : spec_(context.spec),
      config_(context.config.csv),
      report_(context.report),
      table_(table_columns(spec_)) {
  auto features = static_cast<size_t>(spec_.columns[0].shape.elements());
  for (size_t size : {spec_.normalization.mean.size(), spec_.feature_names.size()})
    if (size != 0 && size != features)
      fail(Category::checkpoint,
           "there are {} features, but means or names of {}; use another checkpoint", features,
           size);
  for (TableColumn& column : table_) column.marks = marks_of(config_.missing);
  values_.resize(table_.size());
  noted_.resize(table_.size());
}

void TableReader::open(const std::filesystem::path& path) {
  path_ = path;
  reader_ = open_records(path, csv_separator(path, config_));
  row_ = 0;
  bool there = reader_->next(record_);
  if (there) choose_columns();
  if (there && !waiting_) waiting_ = there = reader_->next(record_);
  if (!there) fail(Category::data, "{}: contains no rows; get an intact copy", path.string());
}

std::optional<RowOrigin> TableReader::next(std::byte* row) {
  if (!reader_ || !read_record()) return {};
  RowOrigin origin = {.file = {}, .row = row_++, .only = false};
  write_row(row);
  add_truth(origin);
  return origin;
}

// Returns false at the end of the file, which is also behind a record that cannot be read.
bool TableReader::read_record() {
  if (std::exchange(waiting_, false)) return true;
  std::unique_ptr<RecordReader> reader = std::move(reader_);
  if (!reader->next(record_)) return false;
  reader_ = std::move(reader);
  return true;
}

// Chooses the columns by the first record. Where that is a header it is no row.
void TableReader::choose_columns() {
  fields_ = record_.fields.size();
  std::vector<std::string> names = csv_names(record_, config_);
  if (names.empty() && config_.header == CsvConfig::Header::automatic &&
      names_all_features(record_))
    names = csv_names(record_, {.header = CsvConfig::Header::yes});
  waiting_ = names.empty();
  if (spec_.feature_names.empty()) return choose_by_place(fields_);
  if (names.empty())
    fail(Category::data, "{}:1:1: the first row has no column names; add a row that names {}",
         path_.string(), quoted_list(names_read()));
  choose_by_name(names);
}

// Returns the names of the columns that the model reads.
std::vector<std::string> TableReader::names_read() const {
  std::vector<std::string> names;
  for (const TableColumn& column : table_) names.push_back(column.name);
  return names;
}

// Returns whether the record names all features. csv_names() takes a record with a number in it for
// a row; names that the model knows show that it is a header.
bool TableReader::names_all_features(const CsvRecord& record) const {
  return !spec_.feature_names.empty() &&
         std::ranges::all_of(table_, [&](const TableColumn& column) {
           return std::ranges::any_of(record.fields, [&](const CsvField& field) {
             return trimmed(field.text) == column.name;
           });
         });
}

// Takes each column once: features of one name take the columns of that name in order.
void TableReader::choose_by_name(const std::vector<std::string>& names) {
  columns_.clear();
  std::vector<bool> taken(names.size());
  std::vector<std::string> missing, others;
  for (const std::string& name : names_read()) {
    size_t column = 0;
    while (column < names.size() && (taken[column] || names[column] != name)) ++column;
    if (column < names.size()) {
      taken[column] = true;
      columns_.push_back(column);
    } else {
      missing.push_back(name);
    }
  }
  if (!missing.empty())
    fail(Category::data, "{}:1:1: there is no column {}; the columns are {}; add the missing ones",
         path_.string(), quoted_list(missing), quoted_list(names));
  find_target(names, taken);
  for (size_t column = 0; column < names.size(); ++column)
    if (!taken[column] && column != target_) others.push_back(names[column]);
  if (!others.empty())
    report_.note(fmt::format("{}: columns that the model does not use are ignored: {}",
                             path_.string(), quoted_list(others)));
}

// The target is the column of its name; where training took the last one, the last column, if it is
// no feature.
void TableReader::find_target(const std::vector<std::string>& names,
                              const std::vector<bool>& taken) {
  target_.reset();
  for (size_t column = 0; column < names.size(); ++column)
    if (!taken[column] && names[column] == config_.target) target_ = column;
  if (config_.target == "last" && !taken.back()) target_ = names.size() - 1;
}

// A field that is no class or no number says nothing.
void TableReader::add_truth(RowOrigin& origin) const {
  if (!target_) return;
  std::string text = plain_text(spec_.target, record_.fields[*target_].text);
  if (spec_.find("values") == nullptr) {
    origin.label = class_named(spec_, text);
  } else if (std::optional<double> number = finite_number(text);
             number && std::abs(*number) <= std::numeric_limits<float>::max()) {
    origin.values = {static_cast<float>(*number)};
  }
}

// Takes the columns in their order, without the ignored ones and the target.
void TableReader::choose_by_place(size_t columns) {
  size_t features = table_.size();
  // A table with just the features lacks the columns that training ignored.
  std::vector<bool> ignored(columns);
  for (const std::string& word : columns > features ? config_.ignore : std::vector<std::string>())
    if (auto column = find_column(word, {}, columns)) ignored[*column] = true;
  auto left = static_cast<size_t>(std::ranges::count(ignored, false));
  if (left != features && left != features + 1)
    fail(Category::data,
         "{}:1:1: there are {} columns, but the model reads {}, in the order of its training data, "
         "and optionally the target; correct the file",
         path_.string(), columns, features);
  size_t target = left > features ? target_place(config_.target, columns) : columns;
  target_ = target < columns ? std::optional(target) : std::nullopt;
  columns_.clear();
  for (size_t column = 0; column < columns; ++column)
    if (column != target && !ignored[column]) columns_.push_back(column);
}

// Normalizes the record's features and writes them as the column's type.
void TableReader::write_row(std::byte* row) {
  if (!record_.problem.empty()) refuse(record_.problem_position, record_.problem);
  if (record_.fields.size() != fields_)
    refuse(record_.fields.back().position,
           fmt::format("{} fields, expected {}", record_.fields.size(), fields_));
  for (size_t c = 0; c < columns_.size(); ++c) {
    const CsvField& field = record_.fields[columns_[c]];
    std::optional<double> value = field_value(table_[c], field.text);
    if (!value)
      refuse(field.position, fmt::format("{}: {}", name_of(c), refusal_of(table_[c], field.text)));
    if (*value < 0 && !table_[c].levels.empty()) note_unknown_word(c, field.text);
    values_[c] = *value;
  }
  with_any_float_type(spec_.columns[0].dtype, [&](auto type) {
    auto* features = reinterpret_cast<decltype(type)*>(row);
    write_features(table_, values_, spec_.normalization, features);
    if (auto column = infinite_column(table_, features)) refuse_infinite(*column);
  });
}

void TableReader::refuse_infinite(size_t column) const {
  const CsvField& field = record_.fields[columns_[column]];
  refuse(field.position,
         fmt::format("{}: '{}' is too large: as the model reads it, it is not finite",
                     name_of(column), trimmed(field.text)));
}

std::string TableReader::name_of(size_t column) const {
  return spec_.feature_names.empty() ? fmt::format("feature {}", column)
                                     : fmt::format("'{}'", table_[column].name);
}

void TableReader::note_unknown_word(size_t column, const std::string& word) {
  if (noted_[column]) return;
  noted_[column] = true;
  report_.note(
      fmt::format("{}: '{}': no row of the training data has '{}'; such words count as "
                  "none of the {} known ones",
                  to_string(path_, record_.fields[columns_[column]].position), table_[column].name,
                  trimmed(word), table_[column].levels.size()));
}

void TableReader::refuse(const CsvPosition& place, const std::string& problem) const {
  fail(Category::data, "{}: {}; correct the row", to_string(path_, place), problem);
}

}  // namespace

std::unique_ptr<FileReader> table_reader(const InputContext& context) {
  return std::make_unique<TableReader>(context);
}

}  // namespace spire
