#include "engine/data/sample.h"

#include <cmath>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/config/words.h"
#include "engine/data/text/encoding.h"
#include "engine/data/text/vocabulary.h"

namespace spire {
namespace {

using Json = nlohmann::json;

constexpr int64_t max_elements = int64_t{1} << 40;  // of a row; more means a damaged text

[[noreturn]] void refuse(std::string_view key, std::string_view expected) {
  fail(Category::checkpoint,
       "description of samples: {}: expected {}; the checkpoint is damaged, use another one", key,
       expected);
}

Json json_of(const Column& column) {
  auto dims = column.shape.dims();
  return {{"name", column.name},
          {"shape", std::vector<int64_t>(dims.begin(), dims.end())},
          {"dtype", to_string(column.dtype)}};
}

// Adds how numbers are written, where that is not the usual way, which older checkpoints lack.
void add_form(const TableColumn& column, Json& object) {
  if (column.form != FieldForm::plain) object["form"] = word_of(column.form);
  if (!column.unit.empty()) object["unit"] = column.unit;
  if (!column.marks.empty()) object["marks"] = column.marks;
}

Json json_of(const TableColumn& column) {
  Json object = {{"name", column.name},
                 {"levels", column.levels},
                 {"embedded", column.embedded},
                 {"blank", column.blank ? Json(*column.blank) : Json()}};
  add_form(column, object);
  return object;
}

const Json& at(const Json& object, const char* key) {
  auto found = object.find(key);
  if (found == object.end()) refuse(key, "a value");
  return *found;
}

const Json& array_at(const Json& object, const char* key) {
  const Json& value = at(object, key);
  if (!value.is_array()) refuse(key, "a list");
  return value;
}

int64_t whole_number(const Json& value, const char* key, int64_t least, int64_t most) {
  if (!value.is_number_integer() || value < least || value > most)
    refuse(key, fmt::format("a whole number from {} to {}", least, most));
  return value.get<int64_t>();
}

std::string word(const Json& value, const char* key) {
  if (!value.is_string()) refuse(key, "a word");
  return value.get<std::string>();
}

std::vector<std::string> words(const Json& object, const char* key) {
  std::vector<std::string> result;
  for (const Json& value : array_at(object, key)) result.push_back(word(value, key));
  return result;
}

std::vector<double> numbers(const Json& object, const char* key) {
  std::vector<double> result;
  for (const Json& value : array_at(object, key)) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) refuse(key, "finite numbers");
    result.push_back(value.get<double>());
  }
  return result;
}

// Refuses overflow before it happens: the text may come from a damaged checkpoint.
Shape shape_of(const Json& list) {
  if (list.size() > Shape::max_rank)
    refuse("shape", fmt::format("{} dimensions at most", +Shape::max_rank));
  std::vector<int64_t> dims;
  int64_t elements = 1;
  for (const Json& dim : list) {
    dims.push_back(whole_number(dim, "shape", 1, max_elements));
    if (dims.back() > max_elements / elements) refuse("shape", "fewer elements");
    elements *= dims.back();
  }
  return Shape(dims);
}

// A wrong dtype is Error(config) of dtype_from_name; here it means a damaged checkpoint.
Column column_of(const Json& object) {
  if (!object.is_object()) refuse("columns", "a list of objects");
  Column column;
  column.name = word(at(object, "name"), "name");
  column.shape = shape_of(array_at(object, "shape"));
  try {
    column.dtype = dtype_from_name(word(at(object, "dtype"), "dtype"));
  } catch (const Error& error) {
    if (error.category() != Category::config) throw;
    refuse("dtype", "an element type");
  }
  return column;
}

void read_form(const Json& object, TableColumn& column) {
  if (object.contains("form")) {
    auto form = find_word<FieldForm>(word(object["form"], "form"));
    if (!form) refuse("form", fmt::format("one of: {}", fmt::join(all_words<FieldForm>, ", ")));
    column.form = *form;
  }
  if (object.contains("unit")) column.unit = word(object["unit"], "unit");
  if (object.contains("marks")) column.marks = words(object, "marks");
}

TableColumn table_column_of(const Json& object) {
  if (!object.is_object()) refuse("table", "a list of objects");
  TableColumn column;
  column.name = word(at(object, "name"), "name");
  column.levels = words(object, "levels");
  const Json& embedded = at(object, "embedded");
  if (!embedded.is_boolean()) refuse("embedded", "true or false");
  column.embedded = embedded.get<bool>();
  read_form(object, column);
  const Json& blank = at(object, "blank");
  if (blank.is_null()) return column;
  if (!blank.is_number() || !std::isfinite(blank.get<double>())) refuse("blank", "a finite number");
  column.blank = blank.get<double>();
  return column;
}

Normalization normalization_at(const Json& object) {
  Normalization result = {numbers(object, "mean"), numbers(object, "stddev")};
  if (result.mean.size() != result.stddev.size()) refuse("stddev", "as many numbers as in mean");
  for (double stddev : result.stddev)
    if (stddev <= 0) refuse("stddev", "numbers above 0");
  return result;
}

}  // namespace

const Column* SampleSpec::find(const std::string& name) const {
  for (const Column& column : columns)
    if (column.name == name) return &column;
  return nullptr;
}

void require_utf8(const SampleSpec& spec, const std::string& where) {
  auto require_text = [&](const char* what, const std::string& text) {
    if (!invalid_utf8(text)) return;
    fail(Category::data,
         "{}the {} '{}' is not UTF-8, as names in checkpoints are; rename it (of folders and files "
         "by convmv -f latin1 -t utf-8 -r --notest FOLDER), or convert the file that has it (text "
         "by iconv -f latin1 -t utf-8)",
         where, what, with_bytes_shown(text));
  };
  for (const Column& column : spec.columns) require_text("column", column.name);
  for (const std::string& name : spec.class_names) require_text("class", name);
  for (const std::string& name : spec.feature_names) require_text("feature", name);
  for (const TableColumn& column : spec.table) {
    require_text("column", column.name);
    for (const std::string& level : column.levels) require_text("word", level);
    for (const std::string& mark : column.marks) require_text("mark of data.csv.missing", mark);
  }
  require_text("vocabulary", spec.vocabulary);
}

std::string to_text(const SampleSpec& spec) {
  require_utf8(spec, "");
  Json columns = Json::array();
  for (const Column& column : spec.columns) columns.push_back(json_of(column));
  Json object = {{"columns", columns},
                 {"classes", spec.classes},
                 {"class_names", spec.class_names},
                 {"mean", spec.normalization.mean},
                 {"stddev", spec.normalization.stddev},
                 {"feature_names", spec.feature_names},
                 {"vocabulary", spec.vocabulary}};
  // What only some datasets have is left out elsewhere, and checkpoints of older versions lack it.
  for (const TableColumn& column : spec.table) object["table"].push_back(json_of(column));
  if (!spec.target_scale.mean.empty())
    object["target_scale"] = {{"mean", spec.target_scale.mean},
                              {"stddev", spec.target_scale.stddev}};
  if (spec.target != TableColumn()) add_form(spec.target, object["target"]);
  return object.dump();
}

SampleSpec sample_spec_from_text(const std::string& text) {
  Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) refuse("text", "a JSON object");
  SampleSpec spec;
  for (const Json& column : array_at(object, "columns")) spec.columns.push_back(column_of(column));
  if (spec.columns.empty()) refuse("columns", "one at least");
  spec.classes = whole_number(at(object, "classes"), "classes", 0, int64_t{1} << 31);
  spec.class_names = words(object, "class_names");
  spec.normalization = normalization_at(object);
  spec.feature_names = words(object, "feature_names");
  spec.vocabulary = word(at(object, "vocabulary"), "vocabulary");
  if (object.contains("table"))
    for (const Json& column : array_at(object, "table"))
      spec.table.push_back(table_column_of(column));
  if (object.contains("target_scale")) spec.target_scale = normalization_at(object["target_scale"]);
  if (object.contains("target")) {
    if (!object["target"].is_object()) refuse("target", "an object");
    read_form(object["target"], spec.target);
  }
  int64_t features = 0;
  for (const TableColumn& column : spec.table) features += column.features();
  if (features != 0 && features != spec.columns[0].shape.elements())
    refuse("table", fmt::format("{} features", spec.columns[0].shape.elements()));
  if (!spec.class_names.empty() && std::ssize(spec.class_names) != spec.classes)
    refuse("class_names", fmt::format("{} names", spec.classes));
  return spec;
}

}  // namespace spire
