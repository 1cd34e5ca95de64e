// The bytes of an image file.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "engine/data/change_detection.h"

namespace spire::inline data {

// The whole file -> bytes, whose memory is used again; which file that was. Throws Error(data),
// which names the file, for what is no regular file, is over 256 MiB or cannot be read, and
// FileChanged where it is written meanwhile.
FileStamp read_image_file(const std::filesystem::path& path, std::vector<uint8_t>& bytes);

}  // namespace spire::inline data
