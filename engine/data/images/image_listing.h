// The files of a folder of images.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace spire::inline data {

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

// .jpg, .jpeg or .png, in any case.
bool is_image_name(const std::filesystem::path& path);

// All images of a folder and of the folders within it, relative to it and sorted; links to
// folders are not followed, hidden files and folders passed over. Throws Error(data) when there is
// none, or the system refuses access.
std::vector<std::filesystem::path> images_within(const std::filesystem::path& folder);

// The names of the folders within it, sorted. Error(data) when there is none.
std::vector<std::string> class_folders(const std::filesystem::path& folder);

// Throws Error(data) for a folder that is none of `classes`, and when there is no image at all.
ImageListing list_images(const std::filesystem::path& folder,
                         const std::vector<std::string>& classes);

}  // namespace spire::inline data
