// Arrays of NumPy as datasets: x_train, y_train, x_test and y_test, and x_val and y_val
// (part_names.h), in the folder or the archive data.path. Without x_test and x_val,
// data.npy.test_share of the rows are test rows.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/npy_magic.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/data/dataset_table.h"
#include "engine/data/formats/row_dataset.h"
#include "engine/data/numpy/npy_array.h"
#include "engine/data/part_names.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr int64_t statistics_rows = 64;  // read together

struct NpySplit {
  std::shared_ptr<const NpyArray> input, target;
  std::vector<std::string> names = {};  // of the two arrays, in their set
};

NpySplit open_split(const NpySet& set, Part part, const ArrayNames& names) {
  std::string input = require_array(set, NpyRole::input, part, names.input);
  std::string target = require_array(set, NpyRole::target, part, names.target);
  return {set.open(input), set.open(target), {input, target}};
}

// rows: as NpyTable has them.
std::unique_ptr<const RowTable> table_of(const NpySplit& arrays, std::vector<int64_t> rows) {
  auto table = std::make_unique<NpyTable>(arrays.input, arrays.target, std::move(rows));
  table->infer_columns();
  return table;
}

std::unique_ptr<const RowTable> rows_of(const NpySplit& arrays, double test_share, bool test) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < arrays.input->rows(); ++row)
    if (is_test_row(row, test_share) == test) rows.push_back(row);
  if (rows.empty())
    fail(Category::data, "{}: no row is left for the {}; add rows or change data.npy.test_share",
         arrays.input->location(), test ? "test" : "training");
  return table_of(arrays, std::move(rows));
}

std::unique_ptr<const RowTable> all_rows(const NpySplit& arrays) {
  return table_of(arrays, {});
}

// Returns which parts have arrays, by their first words.
PartNames parts_of_set(const NpySet& set, const DataConfig& config) {
  std::vector<std::string> names = {words_for(Part::train).front()};
  if (find_array(set, NpyRole::input, Part::test, config.npy.test.input))
    names.push_back(words_for(Part::test).front());
  if (find_array(set, NpyRole::input, Part::val, "auto") &&
      find_array(set, NpyRole::target, Part::val, "auto"))
    names.push_back(words_for(Part::val).front());
  return choose_parts(set.path().string(), names, config.val);
}

// A folder, or an archive: a file that is neither is refused with what it is.
NpySet open_set(const std::string& path) {
  std::error_code error;
  if (path == "auto" || (!fs::is_directory(path, error) && !fs::is_regular_file(path, error)))
    fail(Category::config,
         "data.path: {} is no folder and no .npz file; for data.name: npy set it to the folder of "
         "x_train.npy, y_train.npy, x_test.npy and y_test.npy, or to an archive of such arrays",
         path);
  if (begins_with(path, npy_magic))
    fail(Category::config,
         "data.path: {} is a single array; set it to the folder of x_train.npy and y_train.npy, or "
         "save both by numpy.savez",
         path);
  return NpySet(path);
}

// Returns a note that names the arrays that are not used; empty: there are none.
std::vector<std::string> note_unused_arrays(const NpySet& set,
                                            const std::vector<NpySplit>& splits) {
  std::vector<std::string> unused = set.names();
  for (const NpySplit& split : splits)
    for (const std::string& name : split.names) std::erase(unused, name);
  if (unused.empty()) return {};
  return {fmt::format("{}: {} not used; data.npy.train and data.npy.test choose arrays",
                      set.path().string(), quoted_list(unused))};
}

void require_no_target_alone(const NpySet& set, const NpyConfig& config) {
  if (auto alone = find_array(set, NpyRole::target, Part::test, config.test.target))
    fail(Category::data,
         "{}: there is no input for it, such as x_test{}; save that, or remove this {}",
         set.open(*alone)->location(), set.is_archive() ? "" : ".npy",
         set.is_archive() ? "entry" : "file");
}

}  // namespace

DatasetPair open_npy(const DataConfig& config, const ReadOptions& options) {
  NpySet set = open_set(config.path);
  const NpyConfig& npy = config.npy;
  std::vector<NpySplit> splits = {open_split(set, Part::train, npy.train)};
  PartNames parts = parts_of_set(set, config);
  for (const std::string& name : {parts.test, parts.val})
    if (auto part = part_named(name))
      splits.push_back(open_split(set, *part, part == Part::test ? npy.test : ArrayNames()));
  std::vector<std::string> notes = std::move(parts.notes);
  for (std::string& note : note_unused_arrays(set, splits)) notes.push_back(std::move(note));
  RowParts rows;
  rows.statistics_rows = statistics_rows;
  if (splits.size() > 1) {
    rows.train = all_rows(splits[0]);
    rows.test = all_rows(splits[1]);
    if (splits.size() > 2) rows.val = all_rows(splits[2]);
  } else {
    require_no_target_alone(set, npy);
    bool all = options.all_test;
    rows.train = all ? all_rows(splits[0]) : rows_of(splits[0], npy.test_share, false);
    rows.test = all ? all_rows(splits[0]) : rows_of(splits[0], npy.test_share, true);
    if (all)
      notes.insert(notes.begin(),
                   all_test_note(set.path().string(), counted(rows.test->count(), "row"),
                                 "data.npy.test_share"));
  }
  DatasetPair pair = open_rows(std::move(rows), config, options, npy.task, {});
  std::ranges::move(notes, std::back_inserter(pair.notes));
  return pair;
}

}  // namespace spire
