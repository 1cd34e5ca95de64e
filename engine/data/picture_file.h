// The bytes of a picture file.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace spire {

// The whole file -> bytes, whose memory is used again. Throws Error(data), which names the
// file, for what is no regular file, is over 256 MiB or cannot be read.
void read_picture_file(const std::filesystem::path& path, std::vector<uint8_t>& bytes);

}  // namespace spire
