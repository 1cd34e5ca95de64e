// Rows of two arrays as a dataset: checks, normalizes and converts what a RowTable fetches.

#include "engine/data/formats/row_dataset.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/fail.h"
#include "engine/data/sample_reading.h"

namespace spire {
namespace {

// Scratch memory for stored rows between file and batch: `capacity` rows, and one more for the
// sample that replaces a corrupt one.
struct StoredRows {
  explicit StoredRows(const RowTable& table) {
    capacity = static_cast<size_t>(table.fetch_rows());
    for (size_t c : {0, 1}) {
      row_bytes[c] = table.columns()[c].row_bytes();
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

class RowDataset : public Dataset {
 public:
  RowDataset(std::unique_ptr<const RowTable> table, const SampleSpec& spec,
             const DataConfig& config, const AugmentConfig& augment, const StoredSizing& sizing,
             const ReadOptions& options)
      : table_(std::move(table)),
        chunk_(config.shuffle == DataConfig::Shuffle::full ? 1 : table_->block_rows()),
        corrupt_(table_->count(), config),
        decoder_(spec,
                 {.input = table_->columns()[0].dtype,
                  .unit = table_->unit(),
                  .locations = {table_->location(0), table_->location(1)},
                  .row_of = [table = table_.get()](int64_t at) { return table->stored_row(at); }},
                 config, augment, sizing, options),
        scratch_(config.workers + 1, [&] { return std::make_unique<StoredRows>(*table_); }) {}

  const SampleSpec& spec() const override { return decoder_.spec(); }
  int64_t count() const override { return table_->count(); }
  int64_t chunk() const override { return chunk_; }
  int64_t skipped() const override { return corrupt_.skipped(); }
  std::vector<std::string> problems() const override { return corrupt_.problems(); }
  void set_held_out(const std::vector<bool>& held_out) override { corrupt_.set_held_out(held_out); }
  std::optional<RowChecksums> checksums() const override { return table_->checksums(); }
  void verify_files() const override { table_->verify_files(); }
  std::vector<std::string> layout() const override { return table_->layout(); }
  std::vector<std::filesystem::path> files() const override { return table_->files(); }

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
    table_->read(first, std::ssize(out), std::array<std::byte*, 2>{nullptr, memory});
  }

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
        if (!fetched_already) table_->fetch({&sample, 1}, row);
        decoder_.write(row[0], row[1], sample, epoch, first + i, columns);
      });
    }
  }
  // Returns false where some of the rows cannot be read.
  bool fetch(std::span<const int64_t> samples, StoredRows& stored) const {
    try {
      table_->fetch(samples, stored.row(0));
      return true;
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      return false;
    }
  }

  std::unique_ptr<const RowTable> table_;
  int64_t chunk_;
  CorruptSamples corrupt_;
  RowDecoder decoder_;
  mutable ScratchPool<StoredRows> scratch_;
};

void require_same_columns(const RowTable& train, const RowTable& test) {
  for (size_t c : {0, 1}) {
    const Column &expected = train.columns()[c], &found = test.columns()[c];
    if (expected.name == found.name && expected.shape == found.shape) continue;
    fail(Category::data, "{}: {} of {}, but {} contains {} of {}; use files of one set",
         test.location(c), found.name, to_string(found.shape), train.location(c), expected.name,
         to_string(expected.shape));
  }
}

}  // namespace

DatasetPair open_rows(RowParts parts, const DataConfig& config, const ReadOptions& options,
                      TargetKind task, std::vector<std::string> notes) {
  for (const RowTable* other : {parts.test.get(), parts.val.get()})
    if (other != nullptr) require_same_columns(*parts.train, *other);
  SampleSpec spec = infer_schema(*parts.train, parts.statistics_rows, task, config, options, notes);
  auto open = [&](std::unique_ptr<const RowTable> table, bool test) -> std::unique_ptr<Dataset> {
    if (!table) return nullptr;
    return std::make_unique<RowDataset>(std::move(table), spec, config,
                                        test ? AugmentConfig{} : config.augment,
                                        sizing_of(config, options, test), options);
  };
  return {open(std::move(parts.train), false), open(std::move(parts.test), true), std::move(notes),
          open(std::move(parts.val), true)};
}

}  // namespace spire
