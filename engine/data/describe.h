// Summary of a dataset for trainer dataset inspect, without reading all of it.
#pragma once
#include "engine/data/dataset.h"

namespace spire::inline data {

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

// Opens the dataset with data.on_error skip and reads its labels. Throws Error(data) where it
// cannot be opened.
DatasetDescription describe_dataset(const DataConfig& config);

// Returns one JSON object.
std::string to_json(const DatasetDescription& description);

}  // namespace spire::inline data
