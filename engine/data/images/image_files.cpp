#include "engine/data/images/image_files.h"

#include <system_error>

#include <spire/error.h>

#include "engine/data/images/image_decode.h"

namespace spire::inline data {

namespace fs = std::filesystem;

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

}  // namespace spire::inline data
