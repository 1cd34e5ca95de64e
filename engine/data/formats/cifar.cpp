// CIFAR files as datasets, in the folder data.path; auto looks for cifar-10-batches-bin and
// cifar-100-binary. Class names come from the set's names file, if it exists.
#include <utility>

#include "engine/base/fail.h"
#include "engine/data/dataset_table.h"
#include "engine/data/formats/labelled_files.h"
#include "engine/data/input_file.h"

namespace spire {
namespace {

constexpr size_t cifar_side = 32, cifar_channels = 3, cifar_plane = cifar_side * cifar_side,
                 cifar_pixels = cifar_channels * cifar_plane;

// Transposes (C, H, W) to (H, W, C).
void append_image(std::span<const uint8_t> planes, std::vector<uint8_t>& out) {
  for (size_t p = 0; p < cifar_plane; ++p)
    for (size_t c = 0; c < cifar_channels; ++c) out.push_back(planes[c * cifar_plane + p]);
}

// Refuses label bytes out of range, also of the labels that are not used.
void check_labels(const InputFile& file, std::span<const uint8_t> record, uint64_t number,
                  const CifarLabels& labels) {
  for (size_t i = 0; i < labels.classes.size(); ++i)
    if (record[i] >= labels.classes[i])
      fail(Category::data, "{}: byte {}: label {} of record {}, expected 0 to {}; {}",
           file.path().string(), number * (labels.classes.size() + cifar_pixels) + i, record[i],
           number, labels.classes[i] - 1, "get an intact copy, and check data.name");
}

void append_file(const std::filesystem::path& path, const CifarLabels& labels,
                 LabelledImages& out) {
  InputFile file(existing_input(path));
  size_t label_bytes = labels.classes.size();
  std::vector<uint8_t> record(label_bytes + cifar_pixels);
  uint64_t number = 0;
  // The length of a gzip file is not known: read until a record is missing or short.
  for (size_t got = file.read(record); got > 0; got = file.read(record), ++number) {
    if (got < record.size())
      fail(Category::data,
           "{}: truncated: ends at byte {}, within record {} of {} bytes; get an intact copy, and "
           "check data.name",
           file.path().string(), number * record.size() + got, number, record.size());
    check_labels(file, record, number, labels);
    out.labels.push_back(record[labels.used]);
    append_image(std::span(record).subspan(label_bytes), out.pixels);
  }
  if (number == 0)
    fail(Category::data, "{}: contains no records; get an intact copy", file.path().string());
  out.count += static_cast<int64_t>(number);
}

namespace fs = std::filesystem;

// Returns a file's lines; none if it is missing. Throws Error(data) unless there are `classes`.
std::vector<std::string> read_class_names(const std::filesystem::path& path, int64_t classes) {
  constexpr size_t max_bytes = size_t{1} << 20;
  if (find_input(path).empty()) return {};
  InputFile file(find_input(path));
  std::string text = file.read_text(max_bytes), name;
  std::vector<std::string> names;
  for (char c : text + "\n") {
    if (c != '\n' && c != '\r') {
      name += c;
    } else if (!name.empty()) {
      names.push_back(std::exchange(name, ""));
    }
  }
  if (std::ssize(names) != classes)
    fail(Category::data, "{}: {} names for {} classes; get an intact copy, or remove the file",
         file.path().string(), names.size(), classes);
  return names;
}

// File names of one of the two sets, as published.
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
    folder = find_dataset_folder(standard_dataset_folders(set.folder), set.train[0],
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

LabelledImages read_cifar(std::span<const std::filesystem::path> paths, const CifarLabels& labels) {
  LabelledImages images;
  images.height = images.width = cifar_side;
  images.channels = cifar_channels;
  images.classes = labels.classes[labels.used];
  for (const std::filesystem::path& path : paths) append_file(path, labels, images);
  return images;
}

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

}  // namespace spire
