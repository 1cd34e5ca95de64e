// Samples by index, written as rows of a batch; and the table of datasets that the config may name.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/sample.h"

namespace spire::inline data {

// hash64 of the bytes of each column, as ReadOptions::stored reads them, of rows
// [i * rows, (i + 1) * rows): blocks[column][i].
struct RowChecksums {
  int64_t rows = 0;
  std::vector<std::vector<uint64_t>> blocks = {};
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual const SampleSpec& spec() const = 0;
  virtual int64_t count() const = 0;  // of samples, >= 1

  // Writes samples[r] to columns[c] + r * spec().columns[c].row_bytes(), for each r and c. What is
  // written is a function of (dataset, sample, epoch) alone: augmentation is keyed by them. Called
  // by several threads at a time. Throws Error(data) naming file and sample for a bad one.
  virtual void read(std::span<const int64_t> samples, int64_t epoch,
                    std::span<std::byte* const> columns) const = 0;

  // Samples of the files that are left out because they are broken (data.on_error: skip), and what
  // is wrong with the first of them: file, place, reason. Those that opening finds are no part of
  // count(); the place of one that only reading finds is taken by the next good one.
  virtual int64_t skipped() const { return 0; }
  std::string first_problem() const;  // empty: none
  // Of up to max_problems of them, those first in the dataset's order.
  virtual std::vector<std::string> problems() const { return {}; }

  // Samples [i * chunk(), (i + 1) * chunk()) lie together in the file, so that reading them one
  // after another costs less: what a loader's order keeps together. 1: any order is as good.
  virtual int64_t chunk() const { return 1; }

  // Labels of samples [first, first + out.size()), without the rest of them where files allow it.
  // Only for samples that have labels. Throws what read() throws.
  virtual void read_labels(int64_t first, std::span<int32_t> out) const;

  // Checksums of their rows that the files hold; nothing: they hold none.
  virtual std::optional<RowChecksums> checksums() const { return {}; }
  // Compares whatever other checksums the files hold. Throws Error(data) for the first wrong one.
  virtual void verify_files() const {}

  // How the samples are stored, a line a part, for people; empty: as the format says.
  virtual std::vector<std::string> layout() const { return {}; }
  // What the samples are read from; empty: they are made, not read.
  virtual std::vector<std::filesystem::path> files() const { return {}; }
};

inline constexpr size_t max_problems = 20;

struct DatasetPair {
  std::unique_ptr<Dataset> train, test;  // of one spec, but for what augmentation adds
  // What a user should know of how the files were understood, a line each: columns that are left
  // out, what is there and not used.
  std::vector<std::string> notes = {};
};

// How samples are to be written.
struct ReadOptions {
  DType dtype = DType::f32;  // of images and features: f32 | bf16 | f16
  uint64_t seed = 0;         // of augmentation and of the windows of tokens
  // Samples as they are stored: images u8, features f32 or f64, nothing augmented or normalized
  // (data.augment and dtype do not count), windows of tokens from the first token on. spec() still
  // says by what a training would normalize.
  bool stored = false;
  // Where threads of the dataset's own run; empty: where those run that start them.
  std::vector<int> cores = {};

  DType image_dtype() const { return stored ? DType::u8 : dtype; }
};

// Opens the dataset that the config names. `path` auto: where the table's entry says. Throws
// Error(config) for an unknown name or a key that the dataset lacks, Error(data) for everything
// that is wrong with the files.
DatasetPair open_dataset(const DataConfig& config, const ReadOptions& options);
std::vector<std::string> dataset_names();

}  // namespace spire::inline data
