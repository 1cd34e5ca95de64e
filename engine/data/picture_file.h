// The bytes of a picture file.
#pragma once
#include <spire/data/steady_file.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace spire {

// The whole file -> bytes, whose memory is used again; which file that was. Throws Error(data),
// which names the file, for what is no regular file, is over 256 MiB or cannot be read, and
// FileChanged where it is written meanwhile.
FileStamp read_picture_file(const std::filesystem::path& path, std::vector<uint8_t>& bytes);

}  // namespace spire
