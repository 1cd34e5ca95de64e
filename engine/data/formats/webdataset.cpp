// Tar shards of WebDataset as datasets: the images are read in place, by the offsets of an index
// that is made when the dataset is opened.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/data/dataset_table.h"
#include "engine/data/formats/webdataset_index.h"
#include "engine/data/images/encoded_images.h"
#include "engine/data/images/image_folder.h"
#include "engine/data/label_survey.h"
#include "engine/data/part_names.h"

namespace spire {
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

// Returns the sorted .tar files in a folder.
std::vector<fs::path> shards_in(const fs::path& folder) {
  std::vector<fs::path> shards;
  for (const fs::path& name : list_folder(folder, Category::data))
    if (name.extension() == ".tar") shards.push_back(folder / name.filename());
  std::ranges::sort(shards);
  return shards;
}

struct ShardPaths {
  // no `test`: a share of the images of `train` is for testing; no `val`: there is none
  std::vector<fs::path> train, test = {}, val = {};
  std::vector<std::string> notes = {};
};

// Takes the parts from shards by what their places are called: a folder, or a word of the name.
// There are none where training or test shards lack.
std::optional<ShardPaths> part_shards(const fs::path& folder,
                                      const std::map<std::string, std::vector<fs::path>>& shards,
                                      const ValConfig& val) {
  std::vector<std::string> names;
  for (const auto& [name, of_name] : shards) names.push_back(name);
  PartNames parts = choose_parts(folder.string(), names, val);
  if (parts.train.empty() || parts.test.empty()) return {};
  ShardPaths paths{shards.at(parts.train), shards.at(parts.test)};
  if (!parts.val.empty()) paths.val = shards.at(parts.val);
  paths.notes = std::move(parts.notes);
  for (const std::string& other : parts.others)
    paths.notes.push_back(fmt::format(
        "{}: {} not read, being neither training nor test data by name; the first: '{}'",
        folder.string(), counted(std::ssize(shards.at(other)), "shard"),
        shards.at(other).front().lexically_relative(folder).string()));
  return paths;
}

// A folder has shards in the folders of parts; or shards with such words in their names; or others,
// which are not parted.
ShardPaths shards_of_folder(const fs::path& folder, const ValConfig& val) {
  std::map<std::string, std::vector<fs::path>> in_folders, by_word;
  for (const std::string& name : folders_in(folder))
    if (auto shards = shards_in(folder / name); !shards.empty()) in_folders[name] = shards;
  std::vector<fs::path> all = shards_in(folder);
  for (const fs::path& shard : all) by_word[part_word(shard.stem().string())].push_back(shard);
  if (auto parted = part_shards(folder, in_folders, val)) return *parted;
  if (auto parted = part_shards(folder, by_word, val)) return *parted;
  if (all.empty())
    fail(Category::data,
         "{}: contains no .tar files, nor do its folders train and val; set data.path to the "
         "folder of the shards, or to a pattern such as shards/train-{{000..099}}.tar",
         folder.string());
  return {std::move(all)};
}

ShardPaths find_shards(const std::string& path, const ValConfig& val) {
  std::error_code error;
  if (fs::is_directory(path, error)) return shards_of_folder(path, val);
  ShardPaths paths;
  for (std::string& text : expand_braces(path)) paths.train.emplace_back(std::move(text));
  return paths;
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

// Refuses a label that is rather a mistake than a class.
void require_plausible(const ShardIndex& index) {
  LabelSurvey survey;
  for (const ShardImage& image : index.images) survey.add({&image.label, 1});
  survey.require_classes(index.shards.front().string(), false, "add a sample of a class between");
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
  ShardPaths paths = find_shards(config.path, config.val);
  EncodedSplits splits;
  splits.notes = std::move(paths.notes);
  std::vector<ShardIndex> indices;
  for (const auto& part : {paths.train, paths.test, paths.val}) {
    if (part.empty()) continue;
    indices.push_back(index_shards(part));
    note_ignored(indices.back(), splits.notes);
  }
  if (indices.size() == 1 && options.all_test) {
    indices.push_back(indices[0]);
    splits.notes.push_back(all_test_note(
        config.path, counted(std::ssize(indices[0].images), "image"), "data.image.test_share"));
  } else if (indices.size() == 1) {
    ShardIndex& all = indices[0];
    auto images =
        take_test_images(all.images, config.image.test_share, all.shards.front().string());
    indices.push_back({.shards = all.shards, .stamps = all.stamps, .images = std::move(images)});
  }
  for (const ShardIndex& index : indices)
    splits.classes = std::max(splits.classes, classes_of(index));
  if (options.trained_classes) {
    splits.classes = options.trained->classes;
    for (const ShardIndex& index : indices) require_labels(index, splits.classes);
  } else {
    require_plausible(indices[0]);
  }
  splits.train = std::make_unique<ShardImages>(std::move(indices[0]));
  splits.test = std::make_unique<ShardImages>(std::move(indices[1]));
  if (indices.size() > 2) splits.val = std::make_unique<ShardImages>(std::move(indices[2]));
  return make_encoded_pair(std::move(splits), config, options);
}

}  // namespace spire
