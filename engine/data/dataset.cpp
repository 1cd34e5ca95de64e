#include <spire/base/error.h>
#include <spire/data/dataset.h>
#include <spire/data/idx.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr const char* train_images = "train-images-idx3-ubyte";
constexpr const char* train_labels = "train-labels-idx1-ubyte";
constexpr const char* test_images = "t10k-images-idx3-ubyte";
constexpr const char* test_labels = "t10k-labels-idx1-ubyte";

// Reads one half. classes = 0: as many as the labels show.
Dataset read_half(const fs::path& images_path, const fs::path& labels_path, int64_t classes) {
  IdxFile images = read_idx_images(images_path);
  IdxFile labels = read_idx_labels(labels_path);
  if (images.dims[0] != labels.dims[0])
    fail(Category::data, "{} holds {} images but {} holds {} labels; get files of one set",
         images.path.string(), images.dims[0], labels.path.string(), labels.dims[0]);
  if (classes == 0) classes = 1 + *std::max_element(labels.values.begin(), labels.values.end());
  for (size_t i = 0; i < labels.values.size(); ++i)
    if (labels.values[i] >= classes)
      fail(Category::data,
           "{}: byte {}: label {} of sample {}, expected 0 to {}; get labels of this set",
           labels.path.string(), 8 + i, labels.values[i], i, classes - 1);
  Dataset half;
  half.pixels = std::move(images.values);
  half.labels.assign(labels.values.begin(), labels.values.end());
  half.count = images.dims[0];
  half.height = images.dims[1];
  half.width = images.dims[2];
  half.channels = 1;
  half.classes = classes;
  return half;
}

DatasetPair read_folder(const fs::path& folder, int64_t classes) {
  std::error_code error;
  if (!fs::is_directory(folder, error) && !error)
    fail(Category::data, "{}: is not a folder; data.path names the folder of the four IDX files",
         folder.string());
  DatasetPair pair;
  pair.train = read_half(folder / train_images, folder / train_labels, classes);
  pair.test = read_half(folder / test_images, folder / test_labels, pair.train.classes);
  if (pair.train.height != pair.test.height || pair.train.width != pair.test.width)
    fail(Category::data, "{}: training images are {} x {} but test images {} x {}; get one set",
         folder.string(), pair.train.height, pair.train.width, pair.test.height, pair.test.width);
  pair.normalization = normalization_of(pair.train);
  return pair;
}

DatasetPair open_fashion_mnist(const std::string& path) {
  constexpr int64_t classes = 10;
  if (path != "auto") return read_folder(path, classes);
  std::vector<fs::path> folders;
  if (const char* root = std::getenv("SPIRE_DATA"))
    folders.push_back(fs::path(root) / "fashion-mnist");
  folders.emplace_back("./data/fashion-mnist");
  folders.emplace_back("/usr/share/datasets/fashion-mnist");
  return read_folder(find_dataset(folders, "apt-get install dataset-fashion-mnist"), classes);
}

DatasetPair open_idx(const std::string& path) {
  if (path == "auto")
    fail(Category::config,
         "data.path: auto is for named datasets; for data.name idx give the folder of the files");
  return read_folder(path, 0);
}

struct Entry {
  std::string_view name;
  DatasetPair (*open)(const std::string& path);
};

constexpr std::array table = {
    Entry{"fashion_mnist", open_fashion_mnist},
    Entry{"idx", open_idx},
};

}  // namespace

std::vector<std::string> dataset_names() {
  std::vector<std::string> names;
  for (const Entry& entry : table) names.emplace_back(entry.name);
  return names;
}

DatasetPair open_dataset(const std::string& name, const std::string& path) {
  for (const Entry& entry : table)
    if (entry.name == name) return entry.open(path);
  std::string meant = nearest(name, dataset_names());
  fail(Category::config, "data.name: unknown dataset '{}'{}; known: {}", name,
       meant.empty() ? "" : fmt::format(", did you mean '{}'?", meant),
       fmt::join(dataset_names(), ", "));
}

fs::path find_dataset(const std::vector<fs::path>& folders, const std::string& advice) {
  std::string tried;
  for (const fs::path& folder : folders) {
    if (!find_idx(folder / train_images).empty()) return folder;
    tried += fmt::format("{}{}", tried.empty() ? "" : ", ", folder.string());
  }
  fail(Category::data, "no {}[.gz] in any of: {}; {}, or set data.path", train_images, tried,
       advice);
}

Normalization normalization_of(const Dataset& dataset) {
  auto channels = static_cast<size_t>(dataset.channels);
  std::vector<std::array<int64_t, 256>> histograms(channels);
  for (size_t i = 0; i < dataset.pixels.size(); ++i) ++histograms[i % channels][dataset.pixels[i]];
  Normalization result;
  for (size_t c = 0; c < channels; ++c) {
    double n = 0, sum = 0, squares = 0;
    for (size_t v = 0; v < 256; ++v) n += static_cast<double>(histograms[c][v]);
    for (size_t v = 0; v < 256; ++v)
      sum += static_cast<double>(histograms[c][v]) * static_cast<double>(v);
    for (size_t v = 0; v < 256; ++v) {
      double from_mean = static_cast<double>(v) - sum / n;
      squares += static_cast<double>(histograms[c][v]) * from_mean * from_mean;
    }
    if (std::count(histograms[c].begin(), histograms[c].end(), 0) == 255)
      fail(Category::data, "training images: all pixels of channel {} equal {}; get real data", c,
           sum / n);
    result.mean.push_back(sum / n / 255.0);
    result.stddev.push_back(std::sqrt(squares / n) / 255.0);
  }
  return result;
}

}  // namespace spire
