#include <algorithm>

#include <fmt/ranges.h>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/data/images/image_folder.h"
#include "engine/data/images/image_formats.h"
#include "engine/data/input_file.h"
#include "engine/data/part_names.h"
#include "engine/data/tables/record_reader.h"
#include "engine/data/text/encoding.h"
#include "engine/data/text/jsonl.h"
#include "tools/init/draft_config.h"

namespace spire {

namespace {

namespace fs = std::filesystem;

// The ending of a name in small letters, without ".gz" behind it.
std::string ending(const fs::path& path) {
  fs::path name = path.extension() == ".gz" ? path.stem() : path;
  return lower_case(name.extension().string());
}

bool ends_as(const fs::path& path, std::initializer_list<std::string_view> endings) {
  return std::ranges::count(endings, ending(path)) > 0;
}

// Tells whether the folder has that file, plain or compressed.
bool has(const fs::path& folder, const char* name) {
  return !find_input(folder / name).empty();
}

std::vector<fs::path> texts_in(const fs::path& path) {
  if (!fs::is_directory(path))
    return ends_as(path, {".txt", ".md", ".jsonl"}) ? std::vector{path} : std::vector<fs::path>{};
  std::vector<fs::path> texts;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.is_regular_file() &&
        (ends_as(entry.path(), {".txt", ".md"}) || holds_documents(entry.path())))
      texts.push_back(entry.path());
  std::ranges::sort(texts);
  return texts;
}

bool is_table(const fs::path& path) {
  if (fs::is_directory(path))
    return std::ranges::any_of(tables_in(path), [](const std::string& name) {
      return part_named(table_stem(name)) == Part::train;
    });
  return ends_as(path, {".csv", ".tsv"}) || is_arrow_file(path);
}

bool is_hdf5(const fs::path& path) {
  return !fs::is_directory(path) && ends_as(path, {".h5", ".hdf5"});
}

bool is_idx(const fs::path& path) {
  return has(path, "train-images-idx3-ubyte") && has(path, "train-labels-idx1-ubyte");
}

// Returns the name of the folder of training data; empty if there is none.
std::string train_folder_of(const fs::path& path) {
  return fs::is_directory(path) ? choose_parts("", folders_in(path), {}).train : "";
}

// Some images in folders of classes below `train`, or below the folder itself: the first ones of
// each class, in the order of their names.
std::vector<fs::path> some_images(const fs::path& path) {
  constexpr size_t of_each_class = 8, most_classes = 8;
  std::vector<fs::path> classes, images;
  fs::path folder = path / train_folder_of(path);
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) classes.push_back(entry.path());
  std::ranges::sort(classes);
  for (size_t c = 0; c < classes.size() && (c < most_classes || images.empty()); ++c) {
    std::vector<fs::path> files;
    for (const auto& file : fs::directory_iterator(classes[c]))
      if (is_image_name(file.path()) && file.is_regular_file()) files.push_back(file.path());
    std::ranges::sort(files);
    files.resize(std::min(files.size(), of_each_class));
    images.insert(images.end(), files.begin(), files.end());
  }
  return images;
}

bool is_image_folder(const fs::path& path) {
  return fs::is_directory(path) && !some_images(path).empty();
}

// Images that cannot be read are for training to name.
std::vector<ImageSize> sizes_of(const std::vector<fs::path>& images) {
  std::vector<ImageSize> sizes;
  std::vector<uint8_t> bytes;
  for (const fs::path& image : images) {
    try {
      read_image_file(image, bytes);
      sizes.push_back(image_size(bytes));
    } catch (const Error&) {
    }
  }
  return sizes;
}

// Images that are smaller than the usual 224 are read at their own size: enlarged they would only
// cost more.
void set_image_size(const fs::path& path, RecognizedData& data) {
  constexpr int64_t nearly_usual = 192;
  std::vector<ImageSize> sizes = sizes_of(some_images(path));
  if (sizes.empty()) return;
  std::vector<int64_t> sides;
  for (const ImageSize& size : sizes) sides.push_back(std::min(size.height, size.width));
  auto middle = sides.begin() + std::ssize(sides) / 2;
  std::ranges::nth_element(sides, middle);
  if (*middle >= nearly_usual) return;
  data.keys.emplace_back("data.image.size", fmt::format("{}", *middle));
  bool same = std::ranges::count(sizes, sizes[0]) == std::ssize(sizes);
  if (same && sizes[0].height == sizes[0].width) data.keys.emplace_back("data.image.fit", "squash");
}

bool is_pairs(const fs::path& path) {
  auto has_both = [](const fs::path& folder) {
    return fs::is_directory(folder / "input") && fs::is_directory(folder / "target");
  };
  return has_both(path) || has_both(path / train_folder_of(path));
}

bool is_shards(const fs::path& path) {
  if (!fs::is_directory(path)) return ends_as(path, {".tar"});
  auto entries = fs::directory_iterator(path);
  return std::any_of(begin(entries), end(entries),
                     [](const auto& entry) { return ends_as(entry.path(), {".tar"}); });
}

// One format: its data.name, and how it is recognized. Text has keys of its own.
struct FormatEntry {
  const char* name;
  const char* what;
  bool (*fits)(const fs::path&);
};

constexpr FormatEntry formats[] = {
    {"csv", "a table: FILE.csv, FILE.tsv, FILE.parquet, or a folder with train.csv", is_table},
    {"hdf5", "an HDF5 file: FILE.h5 or FILE.hdf5", is_hdf5},
    {"idx", "IDX files: a folder with train-images-idx3-ubyte", is_idx},
    {"cifar10", "CIFAR-10: a folder with data_batch_1.bin",
     [](const fs::path& path) { return has(path, "data_batch_1.bin"); }},
    {"cifar100", "CIFAR-100: a folder with train.bin and test.bin",
     [](const fs::path& path) { return has(path, "train.bin") && has(path, "test.bin"); }},
    {"npy", "arrays of NumPy: FILE.npz, or a folder with x_train.npy",
     [](const fs::path& path) { return has(path, "x_train.npy") || ends_as(path, {".npz"}); }},
    {"webdataset", "tar shards: FILE.tar, or a folder of such files", is_shards},
    {"image_pairs", "pairs of images: a folder with input and target, or train/input", is_pairs},
    {"image_folder", "images: a folder with <class>/*.jpg or *.png, or train/<class>",
     is_image_folder},
    {"tokens", "text: FILE.txt or FILE.jsonl, or a folder of such files",
     [](const fs::path& path) { return !texts_in(path).empty(); }},
};

// Rows as long as leave eight of them in the tenth that is kept for evaluation.
int64_t row_length(const std::vector<fs::path>& texts) {
  int64_t bytes = 0, length = 256;
  for (const fs::path& text : texts) bytes += static_cast<int64_t>(fs::file_size(text));
  while (length > 16 && bytes / 10 < 8 * length) length /= 2;
  return length;
}

// Says what a file is that trainer does not read, such as a workbook.
void refuse_what_it_is(const fs::path& path) {
  std::string head(size_t{1} << 16, '\0');
  head.resize(InputFile(path).read({reinterpret_cast<uint8_t*>(head.data()), head.size()}));
  require_text(path, head);
}

}  // namespace

RecognizedData recognize_data(const fs::path& path) {
  if (!fs::exists(path))
    fail(Category::config, "--data: {}: there is no such file or folder", path.string());
  auto found =
      std::ranges::find_if(formats, [&](const FormatEntry& format) { return format.fits(path); });
  if (found == std::end(formats)) {
    if (fs::is_regular_file(path)) refuse_what_it_is(path);
    std::vector<std::string> all;
    for (const FormatEntry& format : formats) all.emplace_back(format.what);
    fail(Category::config,
         "--data: {}: its format is not recognized; known are {}; for others write data.name by "
         "hand (docs/formats.md)",
         path.string(), fmt::join(all, "; "));
  }
  RecognizedData data{found->what, {{"data.name", found->name}}};
  data.what.resize(data.what.find(':'));
  std::vector<fs::path> texts = texts_in(path);
  if (std::string_view(found->name) != "tokens") {
    data.keys.emplace_back("data.path", yaml_word(path.string()));
    if (std::string_view(found->name) == "image_folder") set_image_size(path, data);
    return data;
  }
  std::vector<std::string> names;
  for (const fs::path& text : texts) names.push_back(yaml_word(text.string()));
  data.keys.emplace_back("data.tokens.text", fmt::format("[{}]", fmt::join(names, ", ")));
  if (std::ranges::all_of(texts, holds_documents))
    data.keys.emplace_back("data.tokens.documents", "packed");
  data.keys.emplace_back("data.tokens.length", fmt::format("{}", row_length(texts)));
  return data;
}

}  // namespace spire
