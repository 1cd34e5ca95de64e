// Interface of datasets, which read samples by index.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spire/export.h>
#include <spire/sample_spec.h>

namespace spire {

inline constexpr size_t max_problems = 20;  // messages kept about corrupt samples

// Checksums of stored rows: hash64 of each column over rows [i * rows, (i + 1) * rows).
struct RowChecksums {
  int64_t rows = 0;
  std::vector<std::vector<uint64_t>> blocks = {};  // [column][i]
};

class SPIRE_API Dataset {  // all methods are thread-safe
 public:
  virtual ~Dataset() = default;

  virtual const SampleSpec& spec() const = 0;
  virtual int64_t count() const = 0;  // number of samples, >= 1

  // Writes column c of samples[r] to columns[c] + r * spec().columns[c].row_bytes(), a function of
  // (dataset, sample, epoch). Throws Error(data), naming file and sample, for a corrupt sample.
  virtual void read(std::span<const int64_t> samples, int64_t epoch,
                    std::span<std::byte* const> columns) const = 0;

  // Parts the samples in two, by a mark for each: a sample that cannot be read is then
  // replaced by one of its own part. Called before any read(), at most once.
  virtual void separate(const std::vector<bool>&) {}

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
  // With equal specs, but for the size of images (data.image.eval_size).
  std::unique_ptr<Dataset> train, test;
  std::vector<std::string> notes = {};  // for the user: ignored columns, unused datasets
  std::unique_ptr<Dataset> val = {};    // data.val: of the spec of `test`; null: there is none
  // What keys of the config that are auto stand for: {"data.csv.separator", "tab"}.
  std::map<std::string, std::string> found = {};

  // The data that decides which checkpoint is best: `val`, or without it `test`.
  const Dataset& selection() const { return val ? *val : *test; }
};

struct ReadOptions {         // how a run reads its data
  DType dtype = DType::f32;  // of images and features: f32 | bf16 | f16
  uint64_t seed = 0;         // for augmentation and for the windows of tokens
  // true: as stored: images u8, features f32 or f64, not augmented, not normalized (see spec()).
  bool stored = false;
  // true: training samples are read as test samples are: not augmented, images in the size of
  // evaluations, windows of tokens in place.
  bool plain = false;
  // The data of a trained model, for which tables are encoded as then; null: a model to be trained.
  std::shared_ptr<const SampleSpec> trained = {};
  // true: classes and vocabulary are those of `trained`, of which the files may lack some, as
  // validation data does.
  bool trained_classes = false;
  // true: where no file is named as test data all samples are, not a share of them. The training
  // data are then the same samples.
  bool all_test = false;

  DType image_dtype() const { return stored ? DType::u8 : dtype; }
};

// Opens the data of a run on each rank, for the run's precision and seed.
using DataSource = std::function<DatasetPair(const ReadOptions& options)>;

}  // namespace spire
