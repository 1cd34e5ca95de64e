// Interface of datasets, which read samples by index; opens, matches and describes them.
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

inline constexpr size_t max_problems = 20;  // messages kept about corrupt samples

// Checksums of stored rows: hash64 of each column over rows [i * rows, (i + 1) * rows).
struct RowChecksums {
  int64_t rows = 0;
  std::vector<std::vector<uint64_t>> blocks = {};  // [column][i]
};

class Dataset {  // all methods are thread-safe
 public:
  virtual ~Dataset() = default;

  virtual const SampleSpec& spec() const = 0;
  virtual int64_t count() const = 0;  // number of samples, >= 1

  // Writes column c of samples[r] to columns[c] + r * spec().columns[c].row_bytes(), a function of
  // (dataset, sample, epoch). Throws Error(data), naming file and sample, for a corrupt sample.
  virtual void read(std::span<const int64_t> samples, int64_t epoch,
                    std::span<std::byte* const> columns) const = 0;

  // Returns how many corrupt samples were left out so far (data.on_error: skip). Those that were
  // found on opening are not in count().
  virtual int64_t skipped() const { return 0; }
  // Returns the messages about corrupt samples, at most max_problems.
  virtual std::vector<std::string> problems() const { return {}; }
  std::string first_problem() const;  // empty if there is none

  // Returns the chunk size: samples [i * chunk(), (i + 1) * chunk()) are stored together.
  virtual int64_t chunk() const { return 1; }

  // Reads only the labels, of samples first, first + 1, ... Throws what read() throws.
  virtual void read_labels(int64_t first, std::span<int32_t> out) const;

  // Returns the row checksums that the files contain; nullopt if they contain none.
  virtual std::optional<RowChecksums> checksums() const { return {}; }
  // Verifies checksums of other kinds in the files. Throws Error(data) for the first mismatch.
  virtual void verify_files() const {}

  // Describes how the data is stored, one line per part.
  virtual std::vector<std::string> layout() const { return {}; }
  // Returns the files that are read; empty if samples are generated.
  virtual std::vector<std::filesystem::path> files() const { return {}; }
};

struct DatasetPair {
  std::unique_ptr<Dataset> train, test;  // with equal specs
  std::vector<std::string> notes = {};   // for the user: ignored columns, unused datasets
};

struct ReadOptions {
  DType dtype = DType::f32;  // of images and features: f32 | bf16 | f16
  uint64_t seed = 0;         // for augmentation and for the windows of tokens
  // true: as stored: images u8, features f32 or f64, not augmented, not normalized (see spec()).
  bool stored = false;
  std::vector<int> cores = {};  // for the dataset's threads; empty: those of the creating thread

  DType image_dtype() const { return stored ? DType::u8 : dtype; }
};

// Opens the dataset that data.name names (dataset_table.h). Throws Error(config) for an unknown
// name or a key that does not suit the dataset, Error(data) for defects of the files.
DatasetPair open_dataset(const DataConfig& config, const ReadOptions& options);

// Renumbers classes and reorders features of `data` so that their names are in the order of
// `trained`, a model's spec; if one side has no names, a note says so. model: the checkpoint's
// path. classes: whether to compare class names. Throws Error(data) if columns, names, counts or
// vocabularies differ.
DatasetPair match_trained_schema(DatasetPair data, const SampleSpec& trained,
                                 const std::string& model, bool classes);

struct SplitDescription {
  int64_t samples = 0;
  std::vector<int64_t> class_counts = {};  // samples of each class; empty: there are no labels
  int64_t labels_out_of_range = 0;
  int64_t files = 0, bytes = 0;  // on disk, as stored
  int64_t skipped = 0;           // samples left out as corrupt
  std::string first_problem = {};
  std::vector<std::string> layout = {};  // as Dataset::layout()
};

struct DatasetDescription {
  std::string name;
  SampleSpec spec;  // with columns as stored
  SplitDescription train, test;
  bool same_files = false;  // both splits are in the same files
};

// Opens the dataset with data.on_error: skip and reads only its labels. Throws Error(data).
DatasetDescription describe_dataset(const DataConfig& config);

std::string to_json(const DatasetDescription& description);  // one JSON object

}  // namespace spire::inline data
