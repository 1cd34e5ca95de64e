// Dataset of image files in class folders: data.path/train/<class>/*.jpg, ..., and likewise test/
// and val/ (part_names.h); or data.path/<class>/*.jpg, of which a share is kept for testing. And
// functions that list such folders.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/data/input_file.h"

namespace spire {

// Opens the dataset (encoded_images.h). Classes are the folders in train/, or in data.path; the
// other parts may lack some.
DatasetPair open_image_folder(const DataConfig& config, const ReadOptions& options);

struct ImageListing {  // the files of one split
  struct File {
    std::string name;  // relative to `folder`: class/image.jpg
    int32_t label;
  };
  std::filesystem::path folder;
  std::vector<File> files = {};            // sorted by class, then by name
  std::vector<std::string> left_out = {};  // folders without images that are no classes
  int64_t ignored = 0;  // number of other files in and beside the folders of classes
  std::string first_ignored = {};

  std::filesystem::path path(int64_t index) const {
    return folder / files[static_cast<size_t>(index)].name;
  }
};

// Lists folder/<class>/<image>. Names of classes may differ in Unicode form. Throws Error(data) for
// an unknown class with images, or if there is no image.
ImageListing list_images(const std::filesystem::path& folder,
                         const std::vector<std::string>& classes);

// Returns the sorted names of the folders in `folder`, without hidden ones. Throws Error(data) if
// `folder` cannot be read; class_folders() also if there is none.
std::vector<std::string> folders_in(const std::filesystem::path& folder);
std::vector<std::string> class_folders(const std::filesystem::path& folder);
// Returns the folders of class_folders() that contain images.
std::vector<std::string> folders_of_images(const std::filesystem::path& folder);

// Returns the sorted relative paths of all images below `folder`, without hidden files and links to
// folders. Throws Error(data) if there is no image, or a folder cannot be read.
std::vector<std::filesystem::path> images_within(const std::filesystem::path& folder);

// Image files that are read anew in each epoch: one that changes during a run ends it.

// Throws FileChanged where the path is gone or is no regular file any more. A file that cannot be
// read for another reason, such as a failing disk, has not changed.
void require_still_a_file(const std::filesystem::path& path);

class ImageFiles {  // thread-safe
 public:
  explicit ImageFiles(int64_t count) : seen_(count) {}

  // Reads a whole file. file: its index in [0, count). Throws Error(data) as read_image_file();
  // FileChanged if the file is not the one of the first read, or is gone.
  void read(int64_t file, const std::filesystem::path& path, std::vector<uint8_t>& bytes) const;

 private:
  FileStampCache seen_;
};

}  // namespace spire
