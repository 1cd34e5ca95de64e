#include "engine/data/formats/cifar_dataset.h"

#include <utility>

#include <spire/error.h>

#include "engine/data/formats/cifar.h"
#include "engine/data/input_file.h"
#include "engine/data/search_paths.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;

// One of the two sets, as it is published.
struct CifarSet {
  const char* folder;
  std::vector<const char*> train;
  const char* test;
  CifarLabels labels;
  const char* names;
};

DatasetPair open_set(const CifarSet& set, const DataConfig& config, const ReadOptions& options) {
  fs::path folder = config.path;
  if (config.path == "auto")
    folder = find_dataset(known_folders(set.folder), set.train[0],
                          "get the binary version from www.cs.toronto.edu/~kriz/cifar.html");
  std::vector<fs::path> train_paths;
  for (const char* name : set.train) train_paths.push_back(folder / name);
  LabelledImages train = read_cifar(train_paths, set.labels);
  LabelledImages test = read_cifar(std::vector<fs::path>{folder / set.test}, set.labels);
  for (const fs::path& path : train_paths) train.files.push_back(existing_input(path));
  test.files = {existing_input(folder / set.test)};
  train.class_names = test.class_names = read_class_names(folder / set.names, train.classes);
  return make_image_pair(std::move(train), std::move(test), config, options);
}

}  // namespace

DatasetPair open_cifar10(const DataConfig& config, const ReadOptions& options) {
  return open_set({"cifar-10-batches-bin",
                   {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                    "data_batch_5.bin"},
                   "test_batch.bin",
                   {{10}, 0},
                   "batches.meta.txt"},
                  config, options);
}

DatasetPair open_cifar100(const DataConfig& config, const ReadOptions& options) {
  bool fine = config.cifar100.labels == Cifar100Config::Labels::fine;
  return open_set({"cifar-100-binary",
                   {"train.bin"},
                   "test.bin",
                   {{20, 100}, fine ? size_t{1} : size_t{0}},
                   fine ? "fine_label_names.txt" : "coarse_label_names.txt"},
                  config, options);
}

}  // namespace spire::inline data
