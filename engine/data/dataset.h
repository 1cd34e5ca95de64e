// Dataset interface: samples by index, written as rows of a batch.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/sample.h"

namespace spire::inline data {

inline constexpr size_t max_problems = 20;  // texts kept of corrupt samples

// hash64 of the bytes of each column, as ReadOptions::stored reads them, over rows
// [i * rows, (i + 1) * rows): blocks[column][i].
struct RowChecksums {
  int64_t rows = 0;
  std::vector<std::vector<uint64_t>> blocks = {};
};

// All methods are thread-safe.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual const SampleSpec& spec() const = 0;
  virtual int64_t count() const = 0;  // of samples, >= 1

  // Writes samples[r] to columns[c] + r * spec().columns[c].row_bytes(), for each r and c. The
  // bytes are a function of (dataset, sample, epoch): augmentation is keyed by them. Throws
  // Error(data) naming file and sample for a corrupt one.
  virtual void read(std::span<const int64_t> samples, int64_t epoch,
                    std::span<std::byte* const> columns) const = 0;

  // Returns how many samples are left out as corrupt (data.on_error: skip); those found on opening
  // are not in count().
  virtual int64_t skipped() const { return 0; }
  // Returns file, position and reason of the first max_problems of them.
  virtual std::vector<std::string> problems() const { return {}; }
  std::string first_problem() const;  // empty: none

  // Returns the samples a chunk: samples [i * chunk(), (i + 1) * chunk()) are stored together.
  virtual int64_t chunk() const { return 1; }

  // Reads labels alone of samples [first, first + out.size()). Throws what read() throws.
  virtual void read_labels(int64_t first, std::span<int32_t> out) const;

  // Returns the checksums of rows stored in the files; nullopt: there are none.
  virtual std::optional<RowChecksums> checksums() const { return {}; }
  // Verifies the files' other checksums. Throws Error(data) for the first mismatch.
  virtual void verify_files() const {}

  // Returns a description of the storage, a line a part.
  virtual std::vector<std::string> layout() const { return {}; }
  // Returns the files read; empty: samples are generated.
  virtual std::vector<std::filesystem::path> files() const { return {}; }
};

struct DatasetPair {
  std::unique_ptr<Dataset> train, test;  // of one spec, except for what augmentation adds
  std::vector<std::string> notes = {};   // for the user: ignored columns, unused datasets
};

// How samples are written.
struct ReadOptions {
  DType dtype = DType::f32;  // of images and features: f32 | bf16 | f16
  uint64_t seed = 0;         // of augmentation and of the windows of tokens
  // Writes samples as stored: images u8, features f32 or f64, neither augmented nor normalized;
  // spec() still holds the normalization of training.
  bool stored = false;
  std::vector<int> cores = {};  // of the dataset's threads; empty: those of the creating thread

  DType image_dtype() const { return stored ? DType::u8 : dtype; }
};

// Opens the dataset that the config names (dataset_table.h). Throws Error(config) for an unknown
// name or a key that the dataset lacks, Error(data) for defects of the files.
DatasetPair open_dataset(const DataConfig& config, const ReadOptions& options);

}  // namespace spire::inline data
