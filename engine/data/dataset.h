// Datasets, samples by index: opened by name, matched with a trained model, and described.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/data/sample.h"

namespace spire::inline data {

inline constexpr size_t max_problems = 20;  // texts kept of corrupt samples

// Checksums of stored rows: hash64 of each column over rows [i * rows, (i + 1) * rows).
struct RowChecksums {
  int64_t rows = 0;
  std::vector<std::vector<uint64_t>> blocks = {};  // [column][i]
};

class Dataset {  // all methods are thread-safe
 public:
  virtual ~Dataset() = default;

  virtual const SampleSpec& spec() const = 0;
  virtual int64_t count() const = 0;  // of samples, >= 1

  // Writes samples[r] to columns[c] + r * spec().columns[c].row_bytes(). The bytes are a function
  // of (dataset, sample, epoch). Throws Error(data) naming file and sample for a corrupt one.
  virtual void read(std::span<const int64_t> samples, int64_t epoch,
                    std::span<std::byte* const> columns) const = 0;

  // Returns how many of count() samples are left out as corrupt so far (data.on_error: skip).
  virtual int64_t skipped() const { return 0; }
  virtual std::vector<std::string> problems() const { return {}; }  // of the first max_problems
  std::string first_problem() const;                                // empty: none

  // Returns the chunk: samples [i * chunk(), (i + 1) * chunk()) are stored together.
  virtual int64_t chunk() const { return 1; }

  // Reads labels alone, of samples from `first` on. Throws what read() throws.
  virtual void read_labels(int64_t first, std::span<int32_t> out) const;

  virtual std::optional<RowChecksums> checksums() const { return {}; }  // of the files
  // Verifies the files' other checksums. Throws Error(data) for the first mismatch.
  virtual void verify_files() const {}

  virtual std::vector<std::string> layout() const { return {}; }  // of the storage, a line a part
  // Returns the files read; none: samples are generated.
  virtual std::vector<std::filesystem::path> files() const { return {}; }
};

struct DatasetPair {
  std::unique_ptr<Dataset> train, test;  // of one spec, except for what augmentation adds
  std::vector<std::string> notes = {};   // for the user: ignored columns, unused datasets
};

struct ReadOptions {
  DType dtype = DType::f32;  // of images and features: f32 | bf16 | f16
  uint64_t seed = 0;         // of augmentation and of the windows of tokens
  // As stored: images u8, features f32 or f64, not augmented; the normalization is in spec() alone.
  bool stored = false;
  std::vector<int> cores = {};  // of the dataset's threads; empty: those of the creating thread

  DType image_dtype() const { return stored ? DType::u8 : dtype; }
};

// Opens the dataset that the config names (dataset_table.h). Throws Error(config) for an unknown
// name or a key that it lacks, Error(data) for defects of the files.
DatasetPair open_dataset(const DataConfig& config, const ReadOptions& options);

// Reorders labels and features of `data` by name as in `trained`, a model's spec; where one side
// has no names, a note says so. model: the checkpoint's path. classes: compares class names. Throws
// Error(data) where columns, names, counts or vocabularies differ.
DatasetPair match_trained_schema(DatasetPair data, const SampleSpec& trained,
                                 const std::string& model, bool classes);

struct SplitDescription {
  int64_t samples = 0;
  std::vector<int64_t> class_counts = {};  // (classes); empty: samples have no labels
  int64_t labels_out_of_range = 0;
  int64_t files = 0, bytes = 0;  // on disk, as stored
  int64_t skipped = 0;           // found corrupt on opening
  std::string first_problem = {};
  std::vector<std::string> layout = {};  // a line a part
};

struct DatasetDescription {
  std::string name;
  SampleSpec spec;  // columns as stored
  SplitDescription train, test;
  bool same_files = false;  // both splits are in the same files
};

// Opens the dataset with data.on_error skip and reads its labels alone. Throws Error(data).
DatasetDescription describe_dataset(const DataConfig& config);

std::string to_json(const DatasetDescription& description);  // one object

}  // namespace spire::inline data
