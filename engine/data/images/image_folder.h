// Image files in folders as a dataset: data.path/train/<class>/*.jpg|jpeg|png, and the same below
// val or test; and the listing of such folders.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/data/dataset.h"

namespace spire::inline data {

// Opens the dataset. Classes are the folders of train; val and test may lack some. Images are
// decoded at each read, resized to data.image.size, and normalized, by default as ImageNet.
DatasetPair open_image_folder(const DataConfig& config, const ReadOptions& options);

struct ImageListing {  // of one split
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

// Lists folder/<class>/<image>. Throws Error(data) for an unknown class, or no image at all.
ImageListing list_images(const std::filesystem::path& folder,
                         const std::vector<std::string>& classes);

// Returns the sorted names of the folders within a folder. Throws Error(data) where there is none.
std::vector<std::string> class_folders(const std::filesystem::path& folder);

// Returns all images below a folder, relative to it and sorted, without hidden files and links to
// folders. Throws Error(data) where there is none, or no access.
std::vector<std::filesystem::path> images_within(const std::filesystem::path& folder);

bool is_image_name(const std::filesystem::path& path);  // .jpg, .jpeg or .png, in any case

}  // namespace spire::inline data
