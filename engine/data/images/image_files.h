// Image files that are read anew in each epoch: one that changes during a run ends it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "engine/data/change_detection.h"

namespace spire::inline data {

// Throws FileChanged where the path is gone or is no regular file any more. A file that cannot be
// read for another reason, such as a failing disk, has not changed.
void require_still_a_file(const std::filesystem::path& path);

class ImageFiles {  // thread-safe
 public:
  explicit ImageFiles(int64_t count) : seen_(count) {}

  // Reads a whole file. file: its index in [0, count). Throws Error(data) as read_image_file();
  // FileChanged if the file is another one than before, or is gone.
  void read(int64_t file, const std::filesystem::path& path, std::vector<uint8_t>& bytes) const;

 private:
  FileStampCache seen_;
};

}  // namespace spire::inline data
