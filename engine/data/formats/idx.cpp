// IDX files as datasets: {train,t10k}-{images-idx3,labels-idx1}-ubyte[.gz] in the folder data.path.
#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "engine/base/fail.h"
#include "engine/data/dataset_table.h"
#include "engine/data/formats/labelled_files.h"
#include "engine/data/images/image_dataset.h"
#include "engine/data/input_file.h"

namespace spire {
namespace {

constexpr uint32_t images_magic = 0x00000803;
constexpr uint32_t labels_magic = 0x00000801;
constexpr uint32_t unsigned_byte = 0x08;

uint32_t read_u32(InputFile& file, uint64_t offset) {
  std::array<uint8_t, 4> b{};
  size_t got = file.read(b);
  if (got < b.size())
    fail(Category::data,
         "{}: truncated: ends at byte {}, within the IDX header; get an intact copy",
         file.path().string(), offset + got);
  return uint32_t{b[0]} << 24 | uint32_t{b[1]} << 16 | uint32_t{b[2]} << 8 | uint32_t{b[3]};
}

std::string_view kind(uint32_t magic) {
  return magic == images_magic ? "images" : "labels";
}

// Throws for a wrong magic number, saying which of its parts is wrong.
void check_magic(const InputFile& file, uint32_t magic, uint32_t expected) {
  if (magic == expected) return;
  std::string path = file.path().string();
  uint32_t type = magic >> 8 & 0xff;
  uint32_t rank = magic & 0xff;
  if (magic >> 16 != 0)
    fail(Category::data,
         "{}: not an IDX file: bytes 0-3 are 0x{:08x}, expected 0x{:08x}; get an intact copy", path,
         magic, expected);
  if (type != unsigned_byte)
    fail(Category::data,
         "{}: byte 2: element type is 0x{:02x}, but only 0x08 (unsigned byte) is supported; "
         "convert the file",
         path, type);
  if (magic == images_magic || magic == labels_magic)
    fail(Category::data, "{}: contains {}, expected {}; check whether the files are swapped", path,
         kind(magic), kind(expected));
  fail(Category::data, "{}: byte 3: {} dimensions, {} have {}; convert the file", path, rank,
       kind(expected), expected & 0xff);
}

// Returns the bytes after the header. Refuses more than the file can hold before memory is
// allocated.
uint64_t body_bytes(const InputFile& file, std::span<const int64_t> dims) {
  uint64_t bytes = 1;
  bool overflow = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0)
      fail(Category::data,
           "{}: byte {}: dimension {} is 0, so the file has no samples; get another file",
           file.path().string(), 4 + 4 * i, i);
    overflow |= __builtin_mul_overflow(bytes, static_cast<uint64_t>(dims[i]), &bytes);
  }
  uint64_t header = 4 + 4 * dims.size();  // bytes: magic and dimensions
  // The length of gzip content is unknown: max_bytes() bounds it.
  uint64_t room = file.max_bytes() - std::min(file.max_bytes(), header);
  if (overflow || bytes > room)
    fail(Category::data,
         "{}: bytes 4-{}: dimensions ({}) need more than the {} bytes this file can hold: damaged "
         "header or truncated; get an intact copy",
         file.path().string(), header - 1, fmt::join(dims, ", "), room);
  return bytes;
}

// Fills `values` from the content's byte `offset` on; `end`: announced length of the content.
void read_values(InputFile& file, uint64_t offset, std::span<uint8_t> values, uint64_t end) {
  size_t got = file.read(values);
  if (got < values.size())
    fail(Category::data, "{}: truncated: ends at byte {}, {} were announced; get an intact copy",
         file.path().string(), offset + got, end);
}

void check_end(InputFile& file, uint64_t end) {
  std::array<uint8_t, 1> one{};
  if (file.read(one) != 0)  // this read also verifies gzip's CRC
    fail(Category::data,
         "{}: byte {}: data beyond the announced end; header and data disagree, get an intact copy",
         file.path().string(), end);
}

// Reads the header. The last byte of the magic is the number of dimensions.
std::vector<int64_t> read_dims(InputFile& file, uint32_t expected) {
  check_magic(file, read_u32(file, 0), expected);
  std::vector<int64_t> dims;
  for (uint64_t i = 0; i < (expected & 0xff); ++i) dims.push_back(read_u32(file, 4 + 4 * i));
  return dims;
}

IdxFile read_idx(const std::filesystem::path& path, uint32_t expected) {
  InputFile file(existing_input(path));
  IdxFile idx{file.path(), read_dims(file, expected), {}};
  idx.values.resize(body_bytes(file, idx.dims));
  uint64_t header = 4 + 4 * idx.dims.size(), end = header + idx.values.size();
  read_values(file, header, idx.values, end);
  check_end(file, end);
  return idx;
}

namespace fs = std::filesystem;

constexpr const char* train_images = "train-images-idx3-ubyte";
constexpr const char* train_labels = "train-labels-idx1-ubyte";
constexpr const char* test_images = "t10k-images-idx3-ubyte";
constexpr const char* test_labels = "t10k-labels-idx1-ubyte";

// Reads training or test images. classes 0: the largest label + 1.
LabelledImages read_split(const fs::path& images_path, const fs::path& labels_path,
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
  // Rank 3 of IDX has no channels: (N, H, W) becomes (N, H, W, 1).
  LabelledImages split;
  split.pixels = std::move(images.values);
  split.labels.assign(labels.values.begin(), labels.values.end());
  split.count = images.dims[0];
  split.height = images.dims[1];
  split.width = images.dims[2];
  split.channels = 1;
  split.classes = classes;
  split.files = {images.path, labels.path};
  return split;
}

DatasetPair read_folder(const fs::path& folder, const std::vector<std::string>& class_names,
                        const DataConfig& config, const ReadOptions& options) {
  std::error_code error;
  if (!fs::is_directory(folder, error) && !error)
    fail(Category::data, "{}: is not a folder; set data.path to the folder of the four IDX files",
         folder.string());
  int64_t classes = options.trained_classes ? options.trained->classes : std::ssize(class_names);
  LabelledImages train = read_split(folder / train_images, folder / train_labels, classes);
  LabelledImages test = read_split(folder / test_images, folder / test_labels, train.classes);
  train.class_names = test.class_names = class_names;
  if (train.height != test.height || train.width != test.width)
    fail(Category::data,
         "{}: training images are {} x {}, but test images are {} x {}; use files of one set",
         folder.string(), train.height, train.width, test.height, test.width);
  return make_image_pair(std::move(train), std::move(test), config, options);
}

}  // namespace

IdxFile read_idx_images(const std::filesystem::path& path) {
  return read_idx(path, images_magic);
}

IdxFile read_idx_labels(const std::filesystem::path& path) {
  return read_idx(path, labels_magic);
}

IdxImages::IdxImages(const std::filesystem::path& path)
    : file_(existing_input(path)), dims_(read_dims(file_, images_magic)) {
  body_bytes(file_, dims_);
}

bool IdxImages::next(std::span<uint8_t> pixels) {
  constexpr uint64_t header = 4 + 4 * 3;  // bytes, of rank 3
  uint64_t end = header + static_cast<uint64_t>(count()) * pixels.size();
  if (read_ == count()) return false;
  read_values(file_, header + static_cast<uint64_t>(read_) * pixels.size(), pixels, end);
  if (++read_ == count()) check_end(file_, end);
  return true;
}

DatasetPair open_fashion_mnist(const DataConfig& config, const ReadOptions& options) {
  const std::vector<std::string> classes = {"T-shirt/top", "Trouser",   "Pullover", "Dress",
                                            "Coat",        "Sandal",    "Shirt",    "Sneaker",
                                            "Bag",         "Ankle boot"};
  if (config.path != "auto") return read_folder(config.path, classes, config, options);
  fs::path folder =
      find_dataset_folder(standard_dataset_folders("fashion-mnist"), train_images,
                          "apt-get install dataset-fashion-mnist, or put the files of "
                          "https://github.com/zalandoresearch/fashion-mnist/tree/"
                          "master/data/fashion into ./data/fashion-mnist");
  return read_folder(folder, classes, config, options);
}

DatasetPair open_idx(const DataConfig& config, const ReadOptions& options) {
  return read_folder(config.path, {}, config, options);
}

}  // namespace spire
