#include "engine/data/formats/idx_dataset.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <spire/error.h>

#include "engine/data/formats/idx.h"
#include "engine/data/images/image_dataset.h"
#include "engine/data/search_paths.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;

constexpr const char* train_images = "train-images-idx3-ubyte";
constexpr const char* train_labels = "train-labels-idx1-ubyte";
constexpr const char* test_images = "t10k-images-idx3-ubyte";
constexpr const char* test_labels = "t10k-labels-idx1-ubyte";

// Reads one half. classes = 0: as many as the labels show.
LabelledImages read_half(const fs::path& images_path, const fs::path& labels_path,
                         int64_t classes) {
  IdxFile images = read_idx_images(images_path);
  IdxFile labels = read_idx_labels(labels_path);
  if (images.dims[0] != labels.dims[0])
    fail(Category::data, "{} contains {} images, but {} contains {} labels; use files of one set",
         images.path.string(), images.dims[0], labels.path.string(), labels.dims[0]);
  if (classes == 0) classes = 1 + *std::max_element(labels.values.begin(), labels.values.end());
  for (size_t i = 0; i < labels.values.size(); ++i)
    if (labels.values[i] >= classes)
      fail(Category::data,
           "{}: byte {}: label {} of sample {}, expected 0 to {}; use the labels of this set",
           labels.path.string(), 8 + i, labels.values[i], i, classes - 1);
  LabelledImages half;
  half.pixels = std::move(images.values);
  half.labels.assign(labels.values.begin(), labels.values.end());
  half.count = images.dims[0];
  half.height = images.dims[1];
  half.width = images.dims[2];
  half.channels = 1;
  half.classes = classes;
  half.files = {images.path, labels.path};
  return half;
}

DatasetPair read_folder(const fs::path& folder, const std::vector<std::string>& class_names,
                        const DataConfig& config, const ReadOptions& options) {
  std::error_code error;
  if (!fs::is_directory(folder, error) && !error)
    fail(Category::data, "{}: is not a folder; set data.path to the folder of the four IDX files",
         folder.string());
  LabelledImages train =
      read_half(folder / train_images, folder / train_labels, std::ssize(class_names));
  LabelledImages test = read_half(folder / test_images, folder / test_labels, train.classes);
  train.class_names = test.class_names = class_names;
  if (train.height != test.height || train.width != test.width)
    fail(Category::data,
         "{}: training images are {} x {}, but test images are {} x {}; use files of one set",
         folder.string(), train.height, train.width, test.height, test.width);
  return make_image_pair(std::move(train), std::move(test), config, options);
}

}  // namespace

DatasetPair open_fashion_mnist(const DataConfig& config, const ReadOptions& options) {
  const std::vector<std::string> classes = {"T-shirt/top", "Trouser",   "Pullover", "Dress",
                                            "Coat",        "Sandal",    "Shirt",    "Sneaker",
                                            "Bag",         "Ankle boot"};
  if (config.path != "auto") return read_folder(config.path, classes, config, options);
  fs::path folder = find_dataset(known_folders("fashion-mnist"), train_images,
                                 "apt-get install dataset-fashion-mnist");
  return read_folder(folder, classes, config, options);
}

DatasetPair open_idx(const DataConfig& config, const ReadOptions& options) {
  if (config.path == "auto")
    fail(Category::config,
         "data.path: auto does not work for data.name: idx; set data.path to the folder of the "
         "files");
  return read_folder(config.path, {}, config, options);
}

}  // namespace spire::inline data
