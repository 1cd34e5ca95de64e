// Opens, matches and describes datasets.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <spire/dataset.h>
#include <spire/run_config.h>

#include "engine/data/sample.h"

namespace spire {

// Opens the dataset that data.name names (dataset_table.h). Throws Error(config) for an unknown
// name or a key that does not suit the dataset, Error(data) for defects of the files.
DatasetPair open_dataset(const DataConfig& config, const ReadOptions& options);

// Base of datasets that change the samples of another dataset, which it owns. Methods that are not
// overridden call the other dataset's, except checksums(), which returns none.
class DatasetOver : public Dataset {
 public:
  explicit DatasetOver(std::unique_ptr<Dataset> data)
      : data_(std::move(data)), spec_(data_->spec()) {}

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return data_->count(); }
  int64_t skipped() const override { return data_->skipped(); }
  std::vector<std::string> problems() const override { return data_->problems(); }
  void set_held_out(const std::vector<bool>& held_out) override { data_->set_held_out(held_out); }
  int64_t chunk() const override { return data_->chunk(); }
  void read_labels(int64_t first, std::span<int32_t> out) const override {
    data_->read_labels(first, out);
  }
  void verify_files() const override { data_->verify_files(); }
  std::vector<std::string> layout() const override { return data_->layout(); }
  std::vector<std::filesystem::path> files() const override { return data_->files(); }

 protected:
  std::unique_ptr<Dataset> data_;
  SampleSpec spec_;
};

// Renumbers classes and reorders features of `data` so that their names are in the order of
// `trained`, a model's spec; if one side has no names, a note says so. model: the checkpoint's
// path, for messages. classes: whether to compare class names. Throws Error(data) if columns,
// names, counts or vocabularies differ.
DatasetPair match_trained_schema(DatasetPair data, const SampleSpec& trained,
                                 const std::string& model, bool classes);

// The same for validation data, which may lack classes of the training data `trained`.
DatasetPair match_validation_schema(DatasetPair data, const SampleSpec& trained);

// Returns first, first + 1, ..., first + count - 1.
inline std::vector<int64_t> sequence(int64_t first, int64_t count) {
  std::vector<int64_t> samples(static_cast<size_t>(count));
  std::iota(samples.begin(), samples.end(), first);
  return samples;
}

// Memory for samples of a dataset, one entry per column.
struct SampleBuffer {
  std::vector<std::vector<std::byte>> columns = {};

  // Reads samples of epoch 0. Throws what Dataset::read throws.
  void read(const Dataset& data, std::span<const int64_t> samples) {
    std::vector<std::byte*> pointers;
    columns.resize(data.spec().columns.size());
    for (size_t c = 0; c < columns.size(); ++c) {
      columns[c].resize(samples.size() * data.spec().columns[c].row_bytes());
      pointers.push_back(columns[c].data());
    }
    data.read(samples, 0, pointers);
  }
};

// Calls use(sample, label) for all samples, in order. Reads labels alone, part by part: inputs may
// be far larger than memory.
template <typename Use>
void for_each_label(const Dataset& data, const Use& use) {
  constexpr int64_t labels_at_once = 1 << 16;
  std::vector<int32_t> labels;
  for (int64_t first = 0; first < data.count(); first += std::ssize(labels)) {
    labels.resize(static_cast<size_t>(std::min(labels_at_once, data.count() - first)));
    data.read_labels(first, labels);
    for (size_t i = 0; i < labels.size(); ++i) use(first + static_cast<int64_t>(i), labels[i]);
  }
}

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
  SampleSpec spec;                         // with columns as stored
  SplitDescription train, test, val = {};  // val.samples 0: there is no validation data
  bool same_files = false;                 // all splits are in the same files
};

// Opens the dataset with data.on_error: skip and reads only its labels. Throws Error(data).
DatasetDescription describe_dataset(const DataConfig& config);

std::string to_json(const DatasetDescription& description);  // one JSON object

}  // namespace spire
