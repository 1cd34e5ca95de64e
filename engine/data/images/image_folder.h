// A dataset of image files in folders: data.path/train/<class>/*.jpg|jpeg|png, and the same below
// val or test; and the listing of such folders.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/data/dataset.h"

namespace spire::inline data {

// Opens the folders of data.path. Classes are the folders of train in alphabetical order; val and
// test may lack some of them. Reader threads decode an image each time they read it and resize it
// to data.image.size (224). Pixels are normalized by data.mean and data.stddev, or else by those of
// ImageNet.
DatasetPair open_image_folder(const DataConfig& config, const ReadOptions& options);

// The image files of one split.
struct ImageListing {
  struct File {
    std::string name;  // relative to the folder: class/image.jpg
    int32_t label;
  };
  std::filesystem::path folder;
  std::vector<File> files;  // by class, then by name

  std::filesystem::path path(int64_t index) const {
    return folder / files[static_cast<size_t>(index)].name;
  }
};

// Lists folder/<class>/<image>. Throws Error(data) for a folder that is none of `classes`, and
// where there is no image at all.
ImageListing list_images(const std::filesystem::path& folder,
                         const std::vector<std::string>& classes);

// Returns the sorted names of the folders within a folder. Throws Error(data) where there is none.
std::vector<std::string> class_folders(const std::filesystem::path& folder);

// Returns all images below a folder at any depth, relative to it and sorted. Skips hidden files and
// folders, and does not follow links to folders. Throws Error(data) where there is none, or where
// the system refuses access.
std::vector<std::filesystem::path> images_within(const std::filesystem::path& folder);

// Returns whether the name ends in .jpg, .jpeg or .png, in any case.
bool is_image_name(const std::filesystem::path& path);

}  // namespace spire::inline data
