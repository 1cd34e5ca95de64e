#include "engine/inference/table_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <spire/error.h>

#include "engine/base/dtype.h"
#include "engine/data/listed.h"

namespace spire::inline inference {
namespace {

// The target's column among `columns`: data.csv.target, where it is a number; else the last.
size_t target_place(const std::string& target, size_t columns) {
  size_t place = 0;
  const char* end = target.data() + target.size();
  auto [stop, error] = std::from_chars(target.data(), end, place);
  return error == std::errc() && stop == end && place < columns ? place : columns - 1;
}

}  // namespace

TableRows::TableRows(std::vector<ListedInput> files, const SampleSpec& spec, CsvConfig config,
                     InputReport report)
    : files_(std::move(files)),
      spec_(spec),
      config_(std::move(config)),
      report_(std::move(report)) {
  auto features = static_cast<size_t>(spec_.columns[0].shape.elements());
  for (size_t size : {spec_.normalization.mean.size(), spec_.feature_names.size()})
    if (size != 0 && size != features)
      fail(Category::checkpoint,
           "there are {} features, but means or names of {}; use another checkpoint", features,
           size);
}

std::vector<RowOrigin> TableRows::read(int64_t most, std::byte* rows) {
  std::vector<RowOrigin> origins;
  while (std::ssize(origins) < most && (reader_ || next_ < files_.size()))
    if (auto origin = read_next(rows + origins.size() * spec_.columns[0].row_bytes()))
      origins.push_back(std::move(*origin));
  return origins;
}

// Nothing where there was a problem, or a file has only been opened or come to its end.
std::optional<RowOrigin> TableRows::read_next(std::byte* row) {
  if (!reader_) {
    const std::filesystem::path& path = files_[next_++].path;
    if (!try_reading(report_, [&] { open(path); })) reader_.reset();
    return {};
  }
  bool there = waiting_;
  if (!there && !try_reading(report_, [&] { there = reader_->next(record_); })) there = false;
  waiting_ = false;
  if (!there) {
    reader_.reset();
    return {};
  }
  int64_t number = row_++;
  if (!try_reading(report_, [&] { write_row(row); })) return {};
  return RowOrigin{.file = files_[next_ - 1], .row = number, .only = false};
}

void TableRows::open(const std::filesystem::path& path) {
  reader_.emplace(path, csv_separator(path, config_));
  row_ = 0;
  bool there = reader_->next(record_);
  if (there) choose_columns(path);
  if (there && !waiting_) waiting_ = there = reader_->next(record_);
  if (!there) fail(Category::data, "{}: contains no rows; get an intact copy", path.string());
}

// From the first record, which is no row then, if it is a header.
void TableRows::choose_columns(const std::filesystem::path& path) {
  fields_ = record_.fields.size();
  std::vector<std::string> names = csv_names(record_, config_);
  if (names.empty() && config_.header == CsvConfig::Header::automatic &&
      names_all_features(record_))
    names = csv_names(record_, {.header = CsvConfig::Header::yes});
  waiting_ = names.empty();
  if (spec_.feature_names.empty()) return choose_by_place(path, fields_);
  if (names.empty())
    fail(Category::data, "{}:1:1: the first row has no column names; add a row that names {}",
         path.string(), listed(spec_.feature_names));
  choose_by_name(path, names);
}

// A header whose names are numbers, some of them, is one when the model knows them.
bool TableRows::names_all_features(const CsvRecord& record) const {
  return !spec_.feature_names.empty() &&
         std::ranges::all_of(spec_.feature_names, [&](const std::string& name) {
           return std::ranges::any_of(record.fields, [&](const CsvField& field) {
             return without_blanks(field.text) == name;
           });
         });
}

// Of columns with one name each is taken once, in their order.
void TableRows::choose_by_name(const std::filesystem::path& path,
                               const std::vector<std::string>& names) {
  columns_.clear();
  std::vector<bool> taken(names.size());
  std::vector<std::string> missing, others;
  for (const std::string& feature : spec_.feature_names) {
    size_t column = 0;
    while (column < names.size() && (taken[column] || names[column] != feature)) ++column;
    if (column < names.size()) {
      taken[column] = true;
      columns_.push_back(column);
    } else {
      missing.push_back(feature);
    }
  }
  if (!missing.empty())
    fail(Category::data, "{}:1:1: there is no column {}; the columns are {}; add the missing ones",
         path.string(), listed(missing), listed(names));
  for (size_t column = 0; column < names.size(); ++column)
    if (!taken[column] && names[column] != config_.target) others.push_back(names[column]);
  if (!others.empty())
    report_.note(fmt::format("{}: columns that the model does not use are ignored: {}",
                             path.string(), listed(others)));
}

void TableRows::choose_by_place(const std::filesystem::path& path, size_t columns) {
  auto features = static_cast<size_t>(spec_.columns[0].shape.elements());
  // A table of the features alone has no such columns.
  std::vector<bool> ignored(columns);
  for (const std::string& word : columns > features ? config_.ignore : std::vector<std::string>())
    if (auto column = find_column(word, {}, columns)) ignored[*column] = true;
  auto left = static_cast<size_t>(std::ranges::count(ignored, false));
  if (left != features && left != features + 1)
    fail(Category::data,
         "{}:1:1: there are {} columns, but the model reads {}, in the order of its training data, "
         "and optionally the target; correct the file",
         path.string(), columns, features);
  size_t target = left > features ? target_place(config_.target, columns) : columns;
  columns_.clear();
  for (size_t column = 0; column < columns; ++column)
    if (column != target && !ignored[column]) columns_.push_back(column);
}

void TableRows::write_row(std::byte* row) const {
  if (!record_.problem.empty()) refuse(record_.problem_place, record_.problem);
  if (record_.fields.size() != fields_)
    refuse(record_.fields.back().place,
           fmt::format("{} fields, expected {}", record_.fields.size(), fields_));
  const Normalization& by = spec_.normalization;
  for (size_t f = 0; f < columns_.size(); ++f) {
    const CsvField& field = record_.fields[columns_[f]];
    std::optional<double> number = finite_number(field.text);
    if (!number)
      refuse(field.place,
             fmt::format("{}: '{}' is not a finite number",
                         spec_.feature_names.empty() ? fmt::format("feature {}", f)
                                                     : fmt::format("'{}'", spec_.feature_names[f]),
                         std::string_view(field.text).substr(0, 40)));
    double x = by.mean.empty() ? *number : (*number - by.mean[f]) / by.stddev[f];
    with_any_float_type(spec_.columns[0].dtype, [&](auto type) {
      reinterpret_cast<decltype(type)*>(row)[f] = static_cast<float>(x);
    });
  }
}

void TableRows::refuse(const CsvPlace& place, const std::string& problem) const {
  fail(Category::data, "{}: {}; correct the row", to_string(reader_->path(), place), problem);
}

}  // namespace spire::inline inference
