// Tar shards of WebDataset as datasets: the images are read in place, by the offsets of an index
// that is made when the dataset is opened.
#include <algorithm>
#include <memory>
#include <utility>

#include <spire/error.h>
#include <spire/text.h>

#include "engine/data/dataset_table.h"
#include "engine/data/formats/webdataset_index.h"
#include "engine/data/images/encoded_images.h"
#include "engine/data/images/image_files.h"
#include "engine/data/test_share.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;

// Images of one split in shards. A shard is opened for each read: there may be more of them than a
// process may hold open.
class ShardImages : public EncodedImages {
 public:
  explicit ShardImages(ShardIndex index) : index_(std::move(index)) {}

  int64_t count() const override { return std::ssize(index_.images); }
  int32_t label(int64_t image) const override { return at(image).label; }
  std::string name(int64_t image) const override {
    return shard_of(image).string() + ": '" + at(image).key + "'";
  }

  void read(int64_t image, std::vector<uint8_t>& bytes) const override {
    const fs::path& path = shard_of(image);
    try {
      RegularFile shard(path, Category::data);
      bytes.resize(at(image).bytes);
      shard.read_at(at(image).offset, std::as_writable_bytes(std::span(bytes)));
      require_unchanged(path, index_.stamps[static_cast<size_t>(at(image).shard)],
                        stamp_of(shard.descriptor(), path));
    } catch (const FileChanged&) {
      throw;
    } catch (const Error&) {
      require_still_a_file(path);
      throw;
    }
  }
  std::vector<fs::path> files() const override { return index_.shards; }

  // Of samples in a shard, on average: those of a chunk lie next to one another.
  int64_t chunk() const override {
    auto shards = std::ssize(index_.shards);
    return (count() + shards - 1) / shards;
  }

 private:
  const ShardImage& at(int64_t image) const { return index_.images[static_cast<size_t>(image)]; }
  const fs::path& shard_of(int64_t image) const {
    return index_.shards[static_cast<size_t>(at(image).shard)];
  }

  ShardIndex index_;
};

// Returns the sorted .tar files in a folder whose names begin with `start`.
std::vector<fs::path> shards_in(const fs::path& folder, const std::string& start = "") {
  std::vector<fs::path> shards;
  for (const fs::path& name : list_folder(folder, Category::data))
    if (name.extension() == ".tar" && name.filename().string().starts_with(start))
      shards.push_back(folder / name.filename());
  std::ranges::sort(shards);
  return shards;
}

struct ShardPaths {
  std::vector<fs::path> train, test;  // no `test`: a share of the images of `train` is for testing
};

// A folder has shards in the folders train and val or test; or shards that begin with these words;
// or others, which are not parted.
ShardPaths shards_of_folder(const fs::path& folder) {
  for (const char* test : {"val", "test"}) {
    ShardPaths in_folders = {shards_in(folder / "train"), shards_in(folder / test)};
    if (!in_folders.train.empty() && !in_folders.test.empty()) return in_folders;
    ShardPaths by_name = {shards_in(folder, "train"), shards_in(folder, test)};
    if (!by_name.train.empty() && !by_name.test.empty()) return by_name;
  }
  std::vector<fs::path> all = shards_in(folder);
  if (all.empty())
    fail(Category::data,
         "{}: contains no .tar files, nor do its folders train and val; set data.path to the "
         "folder of the shards, or to a pattern such as shards/train-{{000..099}}.tar",
         folder.string());
  return {std::move(all), {}};
}

ShardPaths find_shards(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return shards_of_folder(path);
  ShardPaths paths;
  for (std::string& text : expand_braces(path)) paths.train.emplace_back(std::move(text));
  return paths;
}

// Moves the test images to an index of their own.
ShardIndex take_test_part(ShardIndex& all, double share) {
  std::vector<int32_t> labels;
  for (const ShardImage& image : all.images) labels.push_back(image.label);
  std::vector<bool> chosen = test_images_of(labels, share, all.shards.front().string());
  ShardIndex test{.shards = all.shards, .stamps = all.stamps};
  std::vector<ShardImage> train;
  for (size_t i = 0; i < labels.size(); ++i)
    (chosen[i] ? test.images : train).push_back(std::move(all.images[i]));
  all.images = std::move(train);
  return test;
}

void note_ignored(const ShardIndex& index, std::vector<std::string>& notes) {
  if (index.ignored > 0)
    notes.push_back(fmt::format(
        "{}: {} of the shards not read, being neither images nor labels; "
        "the first: '{}'",
        index.shards.front().string(), counted(index.ignored, "member"), index.first_ignored));
}

int64_t classes_of(const ShardIndex& index) {
  return 1 + std::ranges::max(index.images, {}, &ShardImage::label).label;
}

// Refuses labels that the training data's classes do not have.
void require_labels(const ShardIndex& index, int64_t classes) {
  if (classes_of(index) > classes)
    fail(Category::data,
         "{}: there is an image of label {}, but the training data has 0 to {}; leave such images "
         "out, or train on them, too",
         index.shards.front().string(), classes_of(index) - 1, classes - 1);
}

}  // namespace

DatasetPair open_webdataset(const DataConfig& config, const ReadOptions& options) {
  if (config.path == "auto")
    fail(Category::config,
         "data.path: auto does not work for data.name: webdataset; set data.path to the folder of "
         "the shards, or to a pattern such as shards/train-{{000..099}}.tar");
  ShardPaths paths = find_shards(config.path);
  EncodedSplits splits;
  ShardIndex train = index_shards(paths.train), test;
  note_ignored(train, splits.notes);
  if (paths.test.empty()) {
    test = take_test_part(train, config.image.test_share);
  } else {
    test = index_shards(paths.test);
    note_ignored(test, splits.notes);
  }
  splits.classes = std::max(classes_of(train), classes_of(test));
  if (options.trained_classes) {
    splits.classes = options.trained->classes;
    for (const ShardIndex* index : {&train, &test}) require_labels(*index, splits.classes);
  }
  splits.train = std::make_unique<ShardImages>(std::move(train));
  splits.test = std::make_unique<ShardImages>(std::move(test));
  return make_encoded_pair(std::move(splits), config, options);
}

}  // namespace spire::inline data
