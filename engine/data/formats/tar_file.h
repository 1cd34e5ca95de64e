// Reader of the places of files in a tar archive: ustar and pax (POSIX.1-2001), and GNU's long
// names and large sizes. Not of compressed archives, whose files have no place of their own.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "engine/base/read_file.h"

namespace spire::inline data {

struct TarMember {
  std::string name;                // path within the archive
  uint64_t offset = 0, bytes = 0;  // of its content, within the archive
};

// Calls use(member) for each regular file in the archive, in their order; links and folders are
// left out. Archives that were joined are read one after another, as by GNU tar's -i. Throws
// Error(data), naming archive and byte, for a damaged, truncated or compressed archive.
void for_each_member(const RegularFile& archive, const std::function<void(TarMember)>& use);

}  // namespace spire::inline data
