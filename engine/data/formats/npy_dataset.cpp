// Arrays of NumPy as datasets: x_train.npy, y_train.npy, x_test.npy and y_test.npy in the folder
// data.path. Without x_test.npy, data.npy.test_share of the rows are test rows.
#include <array>
#include <utility>

#include <spire/error.h>

#include "engine/base/read_file.h"
#include "engine/data/dataset_table.h"
#include "engine/data/formats/npy_array.h"
#include "engine/data/formats/row_decoder.h"
#include "engine/data/formats/row_schema.h"
#include "engine/data/sample_reading.h"

namespace spire::inline data {
namespace {
#include "engine/data/test_share.h"

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

  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override {
  void separate(const std::vector<bool>& held_out) override { corrupt_.separate(held_out); }
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
  std::vector<std::string> layout() const override {
    return {table_.array(0).layout(), table_.array(1).layout()};
  }
  std::vector<fs::path> files() const override {
    return {table_.array(0).path(), table_.array(1).path()};
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

using Words = std::vector<std::string>;

// Returns the first file "<word>_<split>.npy" that there is; nullopt if there is none.
std::optional<fs::path> find_array(const fs::path& folder, const Words& words, const char* split) {
  for (const std::string& word : words) {
    fs::path path = folder / fmt::format("{}_{}.npy", word, split);
    if (is_there(path)) return path;
  }
  return {};
}

std::shared_ptr<const NpyArray> open_array(const fs::path& folder, const Words& words,
                                           const char* split) {
  if (auto path = find_array(folder, words, split)) return std::make_shared<NpyArray>(*path);
  std::vector<std::string> names;
  for (const std::string& word : words) names.push_back(fmt::format("{}_{}.npy", word, split));
  fail(Category::data, "{}: there is no file {}; save the array by that name", folder.string(),
       fmt::join(names, ", "));
}

const Words inputs = {"x", "images", "features", "tokens"};
const Words targets = {"y", "labels", "values", "targets", "target_images", "masks"};

struct NpySplit {
  std::shared_ptr<const NpyArray> input, target;
};

NpySplit open_split(const fs::path& folder, const char* split) {
  return {open_array(folder, inputs, split), open_array(folder, targets, split)};
}

// Returns the training or the test rows of the only arrays.
NpyTable rows_of(const NpySplit& arrays, double test_share, bool test) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < arrays.input->rows(); ++row)
    if (is_test_row(row, test_share) == test) rows.push_back(row);
  if (rows.empty())
    fail(Category::data, "{}: no row is left for the {}; add rows or change data.npy.test_share",
         arrays.input->path().string(), test ? "test" : "training");
  return NpyTable(arrays.input, arrays.target, std::move(rows));
}

DatasetPair pair_of(NpyTable train, NpyTable test, const DataConfig& config,
                    const ReadOptions& options) {
  require_same_columns(train, test);
  SampleSpec spec = infer_schema(train, statistics_rows, config.npy.task, config, options);
  return {std::make_unique<NpyDataset>(std::move(train), spec, config, config.augment,
                                       sizing_of(config, options, false), options),
          std::make_unique<NpyDataset>(std::move(test), spec, config, AugmentConfig{},
                                       sizing_of(config, options, true), options)};
}

}  // namespace

DatasetPair open_npy(const DataConfig& config, const ReadOptions& options) {
  fs::path folder = config.path;
  std::error_code error;
  if (config.path == "auto" || !fs::is_directory(folder, error))
    fail(Category::config,
         "data.path: {} is no folder; for data.name: npy set it to the folder of x_train.npy, "
         "y_train.npy, x_test.npy and y_test.npy",
         config.path);
  NpySplit train = open_split(folder, "train");
  if (!find_array(folder, inputs, "test")) {
    if (auto alone = find_array(folder, targets, "test"))
      fail(Category::data,
           "{}: there is no input for it, such as x_test.npy; save that, or remove this file",
           alone->string());
    return pair_of(rows_of(train, config.npy.test_share, false),
                   rows_of(train, config.npy.test_share, true), config, options);
  }
  NpySplit test = open_split(folder, "test");
  return pair_of(NpyTable(train.input, train.target, {}), NpyTable(test.input, test.target, {}),
                 config, options);
}

}  // namespace spire::inline data
