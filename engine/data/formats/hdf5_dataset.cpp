#include "engine/data/formats/hdf5_dataset.h"

#include <algorithm>
#include <array>
#include <utility>

#include <spire/error.h>

#include "engine/data/broken_samples.h"
#include "engine/data/convert/stored_row.h"
#include "engine/data/formats/hdf5_check.h"
#include "engine/data/formats/hdf5_evidence.h"
#include "engine/data/formats/hdf5_spec.h"
#include "engine/data/sampler.h"
#include "engine/data/scratch_pool.h"

namespace spire::inline data {
namespace {

constexpr int64_t scratch_bytes = 8 << 20;
constexpr int64_t max_rows = 1024;  // of a scratch
constexpr int64_t test_chunks = 8;  // in memory: they are read in order

// Stored rows between the file and the batch, and one more for the sample that takes another's
// place.
struct StoredRows {
  explicit StoredRows(const Hdf5Rows& rows) {
    auto row = static_cast<int64_t>(rows.columns()[0].row_bytes() + rows.columns()[1].row_bytes());
    most = static_cast<size_t>(std::clamp<int64_t>(scratch_bytes / row, 1, max_rows));
    for (size_t c : {0, 1}) {
      row_bytes[c] = rows.columns()[c].row_bytes();
      memory[c].resize((most + 1) * row_bytes[c]);
    }
  }
  std::array<std::byte*, 2> at(size_t row) {
    return {memory[0].data() + row * row_bytes[0], memory[1].data() + row * row_bytes[1]};
  }

  size_t most = 0;
  std::array<size_t, 2> row_bytes{};
  std::array<std::vector<std::byte>, 2> memory;
};

class Hdf5Dataset : public Dataset {
 public:
  Hdf5Dataset(std::unique_ptr<Hdf5Rows> rows, const SampleSpec& spec, const DataConfig& config,
              const AugmentConfig& augment, const ReadOptions& options)
      : file_(config.path),
        rows_(std::move(rows)),
        spec_(spec),
        chunk_(config.shuffle == DataConfig::Shuffle::full ? 1 : rows_->block_rows()),
        broken_(rows_->count(), config),
        writer_(spec, rows_->columns()[0].dtype, {rows_->place(0), rows_->place(1)}, augment,
                options),
        scratch_(config.workers + 1, [&] { return std::make_unique<StoredRows>(*rows_); }) {}

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return rows_->count(); }
  int64_t chunk() const override { return chunk_; }
  int64_t skipped() const override { return broken_.skipped(); }
  std::vector<std::string> problems() const override { return broken_.problems(); }

  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override {
    auto stored = scratch_.borrow();
    for (size_t first = 0; first < samples.size(); first += stored->most) {
      size_t rows = std::min(stored->most, samples.size() - first);
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
  // samples[i] becomes row first + i of the columns.
  void read_part(std::span<const int64_t> samples, size_t first, int64_t epoch, StoredRows& stored,
                 std::span<std::byte* const> columns) const {
    bool fetched = fetch(samples, stored);
    for (size_t i = 0; i < samples.size(); ++i) {
      broken_.read_good(samples[i], [&](int64_t sample) {
        bool there = fetched && sample == samples[i];
        auto row = stored.at(there ? i : stored.most);
        if (!there) rows_->fetch({&sample, 1}, row);
        writer_.write(row[0], row[1], sample, epoch, first + i, columns);
      });
    }
  }
  // False when some of them cannot be read: then each is read for itself.
  bool fetch(std::span<const int64_t> samples, StoredRows& stored) const {
    try {
      rows_->fetch(samples, stored.at(0));
      return true;
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      return false;
    }
  }

  std::filesystem::path file_;
  std::unique_ptr<Hdf5Rows> rows_;
  SampleSpec spec_;
  int64_t chunk_;
  BrokenSamples broken_;
  StoredRowWriter writer_;
  mutable ScratchPool<StoredRows> scratch_;
};

std::vector<std::string> unused_datasets(const std::filesystem::path& path, Hdf5Rows& train,
                                         Hdf5Rows& test) {
  std::set<std::string> used, there;
  for (Hdf5Rows* half : {&train, &test})
    half->with_table([&](const Hdf5Table& table) {
      used.merge(table.used());
      there.merge(table.neighbors());
    });
  return tell_unused(path, used, there);
}

}  // namespace

DatasetPair open_hdf5(const DataConfig& config, const ReadOptions& options) {
  if (config.path == "auto")
    fail(Category::config,
         "data.path: auto does not work for data.name: hdf5; set data.path to the file");
  CheckedFile checked = check_hdf5_file(config.path, config.hdf5);
  auto owner = std::make_shared<OwnerThread>(options.cores);
  bool together = config.shuffle != DataConfig::Shuffle::full;
  int64_t cache_bytes = config.hdf5.cache_mib << 20;
  Hdf5Options for_training = {.group = "train",
                              .cache_bytes = cache_bytes,
                              .window = together ? Sampler::window : 1,
                              .max_slots = BlockCache::max_slots,
                              .max_rows = max_rows};
  Hdf5Options for_test = {.group = "test",
                          .cache_bytes = cache_bytes,
                          .window = 2,
                          .max_slots = test_chunks,
                          .max_rows = max_rows};
  auto train = std::make_unique<Hdf5Rows>(owner, config.path, config.hdf5.train, for_training);
  auto test = std::make_unique<Hdf5Rows>(owner, config.path, config.hdf5.test, for_test);
  for (const auto& half : {train.get(), test.get()})
    require_same(config.path, checked.stamp, half->stamp());
  require_same_rows(*train, *test);
  SampleSpec spec = hdf5_training_spec(*train, config, options);
  std::vector<std::string> notes = checked.notes;
  for (std::string& note : unused_datasets(config.path, *train, *test))
    notes.push_back(std::move(note));
  return {std::make_unique<Hdf5Dataset>(std::move(train), spec, config, config.augment, options),
          std::make_unique<Hdf5Dataset>(std::move(test), spec, config, AugmentConfig{}, options),
          std::move(notes)};
}

}  // namespace spire::inline data
