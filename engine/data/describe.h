// trainer dataset inspect: what a dataset is, without reading all of it.
#pragma once
#include "engine/data/dataset.h"

namespace spire::inline data {

struct DescribedHalf {
  int64_t samples = 0;
  std::vector<int64_t> class_counts = {};  // (classes); empty: samples have no labels
  int64_t strange_labels = 0;              // labels that are no class
  int64_t files = 0, bytes = 0;            // on disk, as they are stored
  int64_t skipped = 0;                     // that opening found to be broken
  std::string first_problem = {};
  std::vector<std::string> layout = {};  // a line a part
};

struct DatasetDescription {
  std::string name;
  SampleSpec spec;  // columns as they are stored
  DescribedHalf train, test;
  bool same_files = false;  // both halves lie in the same ones
};

// Opens it with data.on_error skip, and reads its labels. Throws Error(data) for what keeps it from
// being opened.
DatasetDescription describe_dataset(const DataConfig& config);

// As JSON, in one object.
std::string to_json(const DatasetDescription& description);

}  // namespace spire::inline data
