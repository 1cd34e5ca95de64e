// Reads the lines of a file of any length piece by piece.
#pragma once
#include <functional>
#include <string_view>

#include "engine/base/read_file.h"

namespace spire {

// Calls take(line) for each line that ends with a newline, and torn(line) for what is behind the
// last one; none of them has its newline, and empty ones are left out. Of a line of several MiB the
// middle may be left out: lines of a run have less than 2 KB. Throws what RegularFile::read() does.
void for_each_line(const RegularFile& file, const std::function<void(std::string_view)>& take,
                   const std::function<void(std::string_view)>& torn);

}  // namespace spire
