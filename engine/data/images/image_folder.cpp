#include "engine/data/images/image_folder.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/system.h"
#include "engine/base/text.h"
#include "engine/data/images/encoded_images.h"
#include "engine/data/images/image_formats.h"
#include "engine/data/part_names.h"
#include "engine/data/text/encoding.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

class FolderImages : public EncodedImages {
 public:
  explicit FolderImages(ImageListing listing) : listing_(std::move(listing)), files_(count()) {}

  int64_t count() const override { return std::ssize(listing_.files); }
  int32_t label(int64_t image) const override {
    return listing_.files[static_cast<size_t>(image)].label;
  }
  std::string name(int64_t image) const override { return listing_.path(image).string(); }
  void read(int64_t image, std::vector<uint8_t>& bytes) const override {
    files_.read(image, listing_.path(image), bytes);
  }
  std::vector<fs::path> files() const override {
    std::vector<fs::path> paths;
    for (int64_t i = 0; i < count(); ++i) paths.push_back(listing_.path(i));
    return paths;
  }

 private:
  ImageListing listing_;
  ImageFiles files_;
};

// Returns folders within class folders; their images are not read.
std::vector<std::string> deeper_folders(const fs::path& folder,
                                        const std::vector<std::string>& classes) {
  std::vector<std::string> deeper;
  for (const std::string& name : classes) {
    std::error_code error;  // list_images() has reported folders that cannot be read
    for (auto at = fs::directory_iterator(folder / name, error); !error && at != fs::end(at);
         at.increment(error))
      if (at->is_directory(error) && !at->path().filename().string().starts_with('.'))
        deeper.push_back(name + "/" + at->path().filename().string());
  }
  std::ranges::sort(deeper);
  return deeper;
}

// Returns notes for the user about what looks like a mistake.
std::vector<std::string> unused_notes(const std::vector<ImageListing>& splits,
                                      const std::vector<std::string>& classes) {
  std::vector<std::string> notes;
  for (const ImageListing& split : splits) {
    if (!split.left_out.empty())
      notes.push_back(fmt::format("{}: no images in {}, so {} left out, being no {}",
                                  split.folder.string(), quoted_list(split.left_out),
                                  split.left_out.size() == 1 ? "it is" : "they are",
                                  split.left_out.size() == 1 ? "class" : "classes"));
    std::vector<std::string> folders = classes;
    folders.insert(folders.end(), split.left_out.begin(), split.left_out.end());
    if (auto deeper = deeper_folders(split.folder, folders); !deeper.empty())
      notes.push_back(
          fmt::format("{}: not read, as images lie right in the folder of their "
                      "class: {}",
                      split.folder.string(), quoted_list(deeper)));
    if (split.ignored > 0)
      notes.push_back(fmt::format("{}: {} ignored, being no {}; the first: '{}'",
                                  split.folder.string(), counted(split.ignored, "file"),
                                  image_endings(), split.first_ignored));
  }
  return notes;
}

// Returns which of the folders in `folder` are parts; none() where they are the classes.
PartNames parts_of(const fs::path& folder, const ValConfig& val) {
  PartNames parts = choose_parts(folder.string(), class_folders(folder), val);
  if (parts.none()) return parts;
  if (parts.train.empty())
    fail(Category::data,
         "{}: has a folder '{}', but none of training images; name theirs train, or if '{}' is a "
         "class, give it another name",
         folder.string(), printable(parts.test), printable(parts.test));
  if (!parts.val.empty() && folders_in(folder / parts.test).empty())
    parts.use_validation_as_test(folder.string(), "it has no folders of classes");
  if (!parts.others.empty())
    parts.notes.push_back(fmt::format("{}: {} not read: {}", folder.string(),
                                      noun_form(std::ssize(parts.others), "folder"),
                                      quoted_list(parts.others)));
  return parts;
}

// Refuses two classes whose names look the same, and for runs a single one.
void require_classes(const fs::path& folder, const std::vector<std::string>& classes,
                     const ReadOptions& options) {
  if (classes.size() == 1 && !options.as_stored)
    fail(Category::data,
         "{}: all images are of the class '{}'; put those of other classes into folders beside it, "
         "or set data.path to the folder of all classes",
         folder.string(), printable(classes[0]));
  std::set<std::string> seen;
  for (const std::string& name : classes)
    if (!seen.insert(composed(name)).second)
      fail(Category::data,
           "{}: has two folders '{}' that differ only in Unicode form (NFC and NFD); move the "
           "images of one into the other",
           folder.string(), printable(name));
}

// Lists folders of images. Sorted names make the order of samples independent of the file system.

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

// Returns the sorted names of the wanted entries of a folder. Throws Error(data) for what the
// system refuses, such as a link to itself.
std::vector<std::string> names_of(const fs::path& folder,
                                  bool (*wanted)(const fs::directory_entry&)) {
  try {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
      if (!is_hidden(entry.path()) && wanted(entry))
        names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  } catch (const fs::filesystem_error& error) {
    const fs::path& place = error.path1().empty() ? folder : error.path1();
    int reason = error.code().value();
    fail(category_of(reason, Category::data), "{}: cannot be read: {}; check data.path",
         place.string(), system_reason(reason));
  }
}

bool is_file(const fs::directory_entry& entry) {
  return entry.is_regular_file();
}

void ignore(const std::string& name, ImageListing& listing) {
  if (listing.ignored++ == 0) listing.first_ignored = name;
}

// Returns at the first image; true also where the folder cannot be read, which list_images() says.
bool has_image(const fs::path& folder) {
  std::error_code error;
  for (auto at = fs::directory_iterator(folder, error); !error && at != fs::end(at);
       at.increment(error))
    if (!is_hidden(at->path()) && is_image_name(at->path())) return true;
  return static_cast<bool>(error);
}

}  // namespace

DatasetPair open_image_folder(const DataConfig& config, const ReadOptions& options) {
  fs::path folder = config.path;
  PartNames parts = parts_of(folder, config.val);
  fs::path train_folder = parts.none() ? folder : folder / parts.train;
  EncodedSplits splits;
  splits.notes = parts.notes;
  splits.class_names =
      options.trained_classes ? options.trained->class_names : folders_of_images(train_folder);
  splits.classes = std::ssize(splits.class_names);
  std::vector<ImageListing> listed = {list_images(train_folder, splits.class_names)};
  if (!parts.none() && parts.test.empty())
    fail(Category::data,
         "{}: has neither a folder val nor a folder test; put the test images into one of them",
         folder.string());
  for (const std::string& part : {parts.test, parts.val})
    if (!part.empty()) listed.push_back(list_images(folder / part, splits.class_names));
  if (!options.trained_classes) require_classes(train_folder, splits.class_names, options);
  for (std::string& note : unused_notes(listed, splits.class_names))
    splits.notes.push_back(std::move(note));
  if (parts.none() && options.all_test) {
    listed.push_back(listed[0]);
    splits.notes.push_back(all_test_note(config.path, counted(std::ssize(listed[0].files), "image"),
                                         "data.image.test_share"));
  } else if (parts.none()) {
    double share = config.image.test_share;
    auto files = take_test_images(listed[0].files, share, folder.string());
    listed.push_back({.folder = folder, .files = std::move(files)});
  }
  splits.train = std::make_unique<FolderImages>(std::move(listed[0]));
  splits.test = std::make_unique<FolderImages>(std::move(listed[1]));
  if (listed.size() > 2) splits.val = std::make_unique<FolderImages>(std::move(listed[2]));
  return make_encoded_pair(std::move(splits), config, options);
}

void require_still_a_file(const fs::path& path) {
  std::error_code error;
  fs::file_type type = fs::status(path, error).type();
  if (type == fs::file_type::not_found) throw FileChanged(path, "it is gone");
  if (type != fs::file_type::regular && !error)
    throw FileChanged(path, "it is not a regular file any more");
}

void ImageFiles::read(int64_t file, const fs::path& path, std::vector<uint8_t>& bytes) const {
  try {
    seen_.check(file, read_image_file(path, bytes), path);
  } catch (const FileChanged&) {
    throw;
  } catch (const Error& error) {
    if (error.category() == Category::data && seen_.has(file)) require_still_a_file(path);
    throw;
  }
}

std::vector<fs::path> images_within(const fs::path& folder) {
  std::vector<fs::path> names;
  try {
    for (auto at = fs::recursive_directory_iterator(folder); at != fs::end(at); ++at) {
      if (is_hidden(at->path())) {
        at.disable_recursion_pending();
      } else if (is_image_name(at->path()) && at->is_regular_file()) {
        names.push_back(at->path().lexically_relative(folder));
      }
    }
  } catch (const fs::filesystem_error& error) {
    int reason = error.code().value();
    fail(category_of(reason, Category::data), "{}: cannot be read: {}", error.path1().string(),
         system_reason(reason));
  }
  if (names.empty())
    fail(Category::data, "{}: neither it nor its folders contain a {}; name other inputs",
         folder.string(), image_endings());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> folders_in(const fs::path& folder) {
  return names_of(folder, [](const auto& entry) { return entry.is_directory(); });
}

std::vector<std::string> class_folders(const fs::path& folder) {
  std::vector<std::string> names = folders_in(folder);
  if (names.empty())
    fail(Category::data,
         "{}: has no folders; put the images of each class into a folder of its own there",
         folder.string());
  return names;
}

std::vector<std::string> folders_of_images(const fs::path& folder) {
  std::vector<std::string> names = class_folders(folder);
  std::erase_if(names, [&](const std::string& name) { return !has_image(folder / name); });
  return names;
}

ImageListing list_images(const fs::path& folder, const std::vector<std::string>& classes) {
  ImageListing listing{.folder = folder};
  for (const std::string& name : class_folders(folder)) {
    auto found = find_name(classes, name);
    if (!found && !has_image(folder / name)) {
      listing.left_out.push_back(name);
      continue;
    }
    if (!found)
      fail(Category::data,
           "{}: folder '{}' is not a class, because train has no folder of that name with images; "
           "remove it, or add images of it to train",
           folder.string(), printable(name));
    auto label = static_cast<int32_t>(*found);
    for (const std::string& file : names_of(folder / name, is_file)) {
      if (is_image_name(file)) {
        listing.files.push_back({name + "/" + file, label});
      } else {
        ignore(name + "/" + file, listing);
      }
    }
  }
  for (const std::string& file : names_of(folder, is_file)) ignore(file, listing);
  if (listing.files.empty())
    fail(Category::data, "{}: its folders contain no {}; check data.path", folder.string(),
         image_endings());
  return listing;
}

}  // namespace spire
