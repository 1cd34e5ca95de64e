// Arrays of NumPy as datasets: x_train, y_train, x_test and y_test, and x_val and y_val
// (part_names.h), in the folder or the archive data.path. Without x_test and x_val,
// data.npy.test_share of the rows are test rows.
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include <spire/error.h>
#include <spire/text.h>

#include "engine/base/npy_magic.h"
#include "engine/base/read_file.h"
#include "engine/data/dataset_table.h"
#include "engine/data/formats/row_decoder.h"
#include "engine/data/formats/row_schema.h"
#include "engine/data/numpy/npy_array.h"
#include "engine/data/numpy/npy_set.h"
#include "engine/data/sample_reading.h"
#include "engine/data/test_share.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t statistics_rows = 64;  // read together

class NpyDataset : public Dataset {
 public:
  NpyDataset(NpyTable table, const SampleSpec& spec, const DataConfig& config,
             const AugmentConfig& augment, const StoredSizing& sizing, const ReadOptions& options)
      : table_(std::move(table)),
        corrupt_(table_.count(), config),
        decoder_(spec,
                 {.input = table_.columns()[0].dtype,
                  .unit = table_.unit(),
                  .locations = {table_.location(0), table_.location(1)}},
                 config, augment, sizing, options),
        scratch_(config.workers + 1, [&] { return std::make_unique<Scratch>(table_); }) {}

  const SampleSpec& spec() const override { return decoder_.spec(); }
  int64_t count() const override { return table_.count(); }
  int64_t skipped() const override { return corrupt_.skipped(); }
  std::vector<std::string> problems() const override { return corrupt_.problems(); }
  void separate(const std::vector<bool>& held_out) override { corrupt_.separate(held_out); }

  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override {
    auto scratch = scratch_.borrow();
    std::array<std::byte*, 2> row = {scratch->rows[0].data(), scratch->rows[1].data()};
    for (size_t i = 0; i < samples.size(); ++i)
      corrupt_.read_or_skip(samples[i], [&](int64_t sample) {
        table_.read_row(sample, scratch->stored, row);
        decoder_.write(row[0], row[1], sample, epoch, i, columns);
      });
  }

  void read_labels(int64_t first, std::span<int32_t> out) const override {
    auto* memory = reinterpret_cast<std::byte*>(out.data());
    table_.read(first, std::ssize(out), std::array<std::byte*, 2>{nullptr, memory});
  }
  void verify_files() const override {
    for (size_t c : {0, 1}) table_.array(c).verify();
  }
  std::vector<std::string> layout() const override {
    return {table_.array(0).layout(), table_.array(1).layout()};
  }
  std::vector<fs::path> files() const override {
    fs::path input = table_.array(0).path(), target = table_.array(1).path();
    return input == target ? std::vector{input} : std::vector{input, target};
  }

 private:
  struct Scratch {  // of a row: its stored bytes, and its numbers
    explicit Scratch(const NpyTable& table) {
      for (size_t c : {0, 1}) rows[c].resize(table.columns()[c].row_bytes());
      stored.reserve(table.row_bytes() * sizeof(double));
    }
    std::vector<std::byte> stored;
    std::array<std::vector<std::byte>, 2> rows;
  };

  NpyTable table_;
  CorruptSamples corrupt_;
  RowDecoder decoder_;
  mutable ScratchPool<Scratch> scratch_;
};

struct NpySplit {
  std::shared_ptr<const NpyArray> input, target;
  std::vector<std::string> names = {};  // of the two arrays, in their set
};

// Opens the arrays of a part, which has an input.
NpySplit open_split(const NpySet& set, Part part, const ArrayNames& names) {
  std::string input = require_array(set, NpyRole::input, part, names.input);
  std::string target = require_array(set, NpyRole::target, part, names.target);
  return {set.open(input), set.open(target), {input, target}};
}

// Returns the training or the test rows of the only arrays.
NpyTable rows_of(const NpySplit& arrays, double test_share, bool test) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < arrays.input->rows(); ++row)
    if (is_test_row(row, test_share) == test) rows.push_back(row);
  if (rows.empty())
    fail(Category::data, "{}: no row is left for the {}; add rows or change data.npy.test_share",
         arrays.input->location(), test ? "test" : "training");
  return NpyTable(arrays.input, arrays.target, std::move(rows));
}

DatasetPair pair_of(NpyTable train, NpyTable test, std::optional<NpyTable> val,
                    const DataConfig& config, const ReadOptions& options) {
  require_same_columns(train, test);
  if (val) require_same_columns(train, *val);
  std::vector<std::string> notes;
  SampleSpec spec = infer_schema(train, statistics_rows, config.npy.task, config, options, notes);
  auto evaluated = [&](NpyTable&& table) {
    return std::make_unique<NpyDataset>(std::move(table), spec, config, AugmentConfig{},
                                        sizing_of(config, options, true), options);
  };
  return {std::make_unique<NpyDataset>(std::move(train), spec, config, config.augment,
                                       sizing_of(config, options, false), options),
          evaluated(std::move(test)), std::move(notes), val ? evaluated(std::move(*val)) : nullptr};
}

NpyTable all_rows(const NpySplit& arrays) {
  return NpyTable(arrays.input, arrays.target, {});
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

// Returns a note that names the arrays of an archive that are not used; empty: there are none.
std::vector<std::string> note_unused_arrays(const NpySet& set,
                                            const std::vector<NpySplit>& splits) {
  std::vector<std::string> unused = set.names();
  for (const NpySplit& split : splits)
    for (const std::string& name : split.names) std::erase(unused, name);
  if (unused.empty()) return {};
  return {fmt::format("{}: {} not used; data.npy.train and data.npy.test choose arrays",
                      set.path().string(), quoted_list(unused))};
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
  if (splits.size() > 1) {
    std::optional<NpyTable> val;
    if (splits.size() > 2) val = all_rows(splits[2]);
    DatasetPair pair =
        pair_of(all_rows(splits[0]), all_rows(splits[1]), std::move(val), config, options);
    std::ranges::move(notes, std::back_inserter(pair.notes));
    return pair;
  }
  if (auto alone = find_array(set, NpyRole::target, Part::test, npy.test.target))
    fail(Category::data,
         "{}: there is no input for it, such as x_test{}; save that, or remove this {}",
         set.open(*alone)->location(), set.is_archive() ? "" : ".npy",
         set.is_archive() ? "entry" : "file");
  auto rows = [&](bool test) {
    return options.all_test ? all_rows(splits[0]) : rows_of(splits[0], npy.test_share, test);
  };
  DatasetPair pair = pair_of(rows(false), rows(true), {}, config, options);
  if (options.all_test)
    notes.push_back(all_test_note(set.path().string(), counted(pair.test->count(), "row"),
                                  "data.npy.test_share"));
  std::ranges::move(notes, std::back_inserter(pair.notes));
  return pair;
}

}  // namespace spire::inline data
