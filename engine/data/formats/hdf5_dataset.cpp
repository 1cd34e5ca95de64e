// HDF5 files as datasets: checks, normalizes and converts the rows that Hdf5Rows reads on demand.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <spire/error.h>
#include <spire/text.h>

#include "engine/data/change_detection.h"
#include "engine/data/dataset_table.h"
#include "engine/data/formats/hdf5_check.h"
#include "engine/data/formats/hdf5_rows.h"
#include "engine/data/formats/row_decoder.h"
#include "engine/data/formats/row_schema.h"
#include "engine/data/formats/serial_executor.h"
#include "engine/data/sample_reading.h"
#include "engine/data/sampler.h"

namespace spire::inline data {
namespace {

constexpr int64_t scratch_bytes = 8 << 20;
constexpr int64_t max_rows = 1024;  // in scratch memory
constexpr int64_t test_chunks = 8;  // cached: test rows are read in order

// Scratch memory for stored rows between file and batch: `capacity` rows, and one more for the
// sample that replaces a corrupt one.
struct StoredRows {
  explicit StoredRows(const Hdf5Rows& rows) {
    auto row = static_cast<int64_t>(rows.columns()[0].row_bytes() + rows.columns()[1].row_bytes());
    capacity = static_cast<size_t>(std::clamp<int64_t>(scratch_bytes / row, 1, max_rows));
    for (size_t c : {0, 1}) {
      row_bytes[c] = rows.columns()[c].row_bytes();
      memory[c].resize((capacity + 1) * row_bytes[c]);
    }
  }
  std::array<std::byte*, 2> row(size_t index) {
    return {memory[0].data() + index * row_bytes[0], memory[1].data() + index * row_bytes[1]};
  }

  size_t capacity = 0;
  std::array<size_t, 2> row_bytes{};
  std::array<std::vector<std::byte>, 2> memory;
};

class Hdf5Dataset : public Dataset {
 public:
  Hdf5Dataset(std::unique_ptr<Hdf5Rows> rows, const SampleSpec& spec, const DataConfig& config,
              const AugmentConfig& augment, const StoredSizing& sizing, const ReadOptions& options)
      : file_(config.path),
        rows_(std::move(rows)),
        chunk_(config.shuffle == DataConfig::Shuffle::full ? 1 : rows_->block_rows()),
        corrupt_(rows_->count(), config),
        decoder_(spec,
                 {.input = rows_->columns()[0].dtype,
                  .unit = rows_->unit(),
                  .locations = {rows_->location(0), rows_->location(1)}},
                 config, augment, sizing, options),
        scratch_(config.workers + 1, [&] { return std::make_unique<StoredRows>(*rows_); }) {}

  const SampleSpec& spec() const override { return decoder_.spec(); }
  int64_t count() const override { return rows_->count(); }
  int64_t chunk() const override { return chunk_; }
  int64_t skipped() const override { return corrupt_.skipped(); }
  std::vector<std::string> problems() const override { return corrupt_.problems(); }
  void separate(const std::vector<bool>& held_out) override { corrupt_.separate(held_out); }

  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override {
    auto stored = scratch_.borrow();
    for (size_t first = 0; first < samples.size(); first += stored->capacity) {
      size_t rows = std::min(stored->capacity, samples.size() - first);
      read_part(samples.subspan(first, rows), first, epoch, *stored, columns);
    }
  }

  void read_labels(int64_t first, std::span<int32_t> out) const override {
    auto* memory = reinterpret_cast<std::byte*>(out.data());
    rows_->with_table([&](const Hdf5Table& table) {
      table.read(first, std::ssize(out), std::array<std::byte*, 2>{nullptr, memory});
    });
  }
  std::optional<RowChecksums> checksums() const override {
    std::optional<RowChecksums> result;
    rows_->with_table([&](const Hdf5Table& table) { result = table.checksums(); });
    return result;
  }
  std::vector<std::string> layout() const override {
    std::vector<std::string> lines;
    rows_->with_table([&](const Hdf5Table& table) {
      for (size_t column : {0, 1}) lines.push_back(table.layout(column));
    });
    return lines;
  }
  std::vector<std::filesystem::path> files() const override { return {file_}; }

 private:
  // Writes samples[i] to row first + i of the columns. All are fetched together; where that fails,
  // one by one, so that the corrupt ones among them show.
  void read_part(std::span<const int64_t> samples, size_t first, int64_t epoch, StoredRows& stored,
                 std::span<std::byte* const> columns) const {
    bool fetched = fetch(samples, stored);
    for (size_t i = 0; i < samples.size(); ++i) {
      corrupt_.read_or_skip(samples[i], [&](int64_t sample) {
        bool fetched_already = fetched && sample == samples[i];
        auto row = stored.row(fetched_already ? i : stored.capacity);
        if (!fetched_already) rows_->fetch({&sample, 1}, row);
        decoder_.write(row[0], row[1], sample, epoch, first + i, columns);
      });
    }
  }
  // Returns false where some of the rows cannot be read.
  bool fetch(std::span<const int64_t> samples, StoredRows& stored) const {
    try {
      rows_->fetch(samples, stored.row(0));
      return true;
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      return false;
    }
  }

  std::filesystem::path file_;
  std::unique_ptr<Hdf5Rows> rows_;
  int64_t chunk_;
  CorruptSamples corrupt_;
  RowDecoder decoder_;
  mutable ScratchPool<StoredRows> scratch_;
};

// Returns a note that names the datasets beside input and target that are not used; empty: none.
std::vector<std::string> note_unused_datasets(const std::filesystem::path& path,
                                              const std::vector<Hdf5Rows*>& splits) {
  std::set<std::string> used, present;
  for (Hdf5Rows* split : splits)
    split->with_table([&](const Hdf5Table& table) {
      used.merge(table.used_datasets());
      present.merge(table.datasets_beside());
    });
  std::vector<std::string> unused;
  std::ranges::set_difference(present, used, std::back_inserter(unused));
  if (unused.empty()) return {};
  return {fmt::format("{}: {} not used: this run reads {}", path.string(), quoted_list(unused),
                      quoted_list({used.begin(), used.end()}))};
}

}  // namespace

DatasetPair open_hdf5(const DataConfig& config, const ReadOptions& options) {
  if (config.path == "auto")
    fail(Category::config,
         "data.path: auto does not work for data.name: hdf5; set data.path to the file");
  Hdf5CheckResult checked = check_hdf5_file(config.path, config.hdf5);
  // One thread reads all splits: libhdf5 serializes them anyway.
  auto executor = std::make_shared<SerialExecutor>(options.cores);
  // Without shuffle: full a window of chunks is read in turns, which the cache must hold.
  bool together = config.shuffle != DataConfig::Shuffle::full;
  int64_t cache_bytes = config.hdf5.cache_mib << 20;
  PartNames parts;
  executor->run([&] {
    h5::Session session;
    parts = hdf5_parts(config.path, config.val);
  });
  Hdf5Options for_training = {.group = parts.train,
                              .cache_bytes = cache_bytes,
                              .window = together ? Sampler::window : 1,
                              .max_slots = BlockCache::max_slots,
                              .max_rows = max_rows};
  Hdf5Options for_test = {.group = parts.test,
                          .cache_bytes = cache_bytes,
                          .window = 2,
                          .max_slots = test_chunks,
                          .max_rows = max_rows};
  auto train = std::make_unique<Hdf5Rows>(executor, config.path, config.hdf5.train, for_training);
  auto test = std::make_unique<Hdf5Rows>(executor, config.path, config.hdf5.test, for_test);
  std::vector<Hdf5Rows*> splits = {train.get(), test.get()};
  std::unique_ptr<Hdf5Rows> val;
  if (!parts.val.empty()) {
    for_test.group = parts.val;
    val = std::make_unique<Hdf5Rows>(executor, config.path, ArrayNames(), for_test);
    splits.push_back(val.get());
  }
  for (Hdf5Rows* split : splits) {
    require_unchanged(config.path, checked.stamp, split->stamp());  // opened is what was checked
    if (split != train.get()) require_same_columns(*train, *split);
  }
  std::vector<std::string> notes = checked.notes;
  SampleSpec spec;
  train->with_table([&](const Hdf5Table& table) {
    spec = infer_schema(table, train->block_rows(), config.hdf5.task, config, options, notes);
  });
  notes.insert(notes.end(), parts.notes.begin(), parts.notes.end());
  for (std::string& note : note_unused_datasets(config.path, splits))
    notes.push_back(std::move(note));
  auto evaluated = [&](std::unique_ptr<Hdf5Rows> rows) {
    return std::make_unique<Hdf5Dataset>(std::move(rows), spec, config, AugmentConfig{},
                                         sizing_of(config, options, true), options);
  };
  return {std::make_unique<Hdf5Dataset>(std::move(train), spec, config, config.augment,
                                        sizing_of(config, options, false), options),
          evaluated(std::move(test)), std::move(notes), val ? evaluated(std::move(val)) : nullptr};
}

}  // namespace spire::inline data
