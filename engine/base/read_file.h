// Reading small files whole, where "not there" and "cannot be read" are told apart.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <spire/error.h>

namespace spire {

// The content of a regular file; none where nothing has that name. Throws Error(category) naming
// the file and the system's reason where it is there and cannot be read, is longer than
// `max_bytes`, or is no regular file: a FIFO or a device is never waited for.
std::optional<std::string> read_file_if_there(const std::filesystem::path& path, Category category,
                                              size_t max_bytes = size_t{64} << 20);

// The same of whatever can be read to an end, `<(a pipe)` too, for files that a person names for
// that: it waits for a pipe's writer. Throws where nothing is there.
std::string read_stream(const std::filesystem::path& path, Category category,
                        size_t max_bytes = size_t{64} << 20);
// The same of what is open, from where it stands; it stays open. `name` is for messages.
std::string read_stream(int descriptor, const std::filesystem::path& name, Category category,
                        size_t max_bytes = size_t{64} << 20);

// Names in a folder, in no order; none where there is no such folder. Throws Error(category) where
// it cannot be listed to its end.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder,
                                               Category category);

}  // namespace spire
