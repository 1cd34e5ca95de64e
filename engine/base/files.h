// Reads files that users name, whole, and replaces files atomically.
// Where this process has too many files open, all throw Error(device), whatever the category.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spire/error.h>

namespace spire {

class AtomicWriter;

// Returns the content of a file or pipe that a user names; waits until a writer opens the pipe.
// Throws Error(category), also if the file is missing or larger than `max_bytes`. Any thread.
std::string read_text(const std::filesystem::path& path, Category category,
                      size_t max_bytes = size_t{64} << 20);
// Reads an open descriptor to its end and leaves it open. name: what messages call it.
std::string read_text(int descriptor, const std::filesystem::path& name, Category category,
                      size_t max_bytes = size_t{64} << 20);
// Returns nullopt for a missing file. Throws Error(category) for what is no regular file, cannot be
// read, or has more than 64 MiB.
std::optional<std::string> read_text_if_there(const std::filesystem::path& path, Category category);

// Opens a regular file for reading and writing, or creates it; does not follow links. The caller
// closes the descriptor. Throws Error(category).
int open_in_place(const std::filesystem::path& path, Category category);

// A file that is written as "<path>.tmp" and renamed by commit(), so that readers see the old file
// or the new one, also after a power cut. Without commit() it is removed. Its folder is made if
// there is none. A path may have one writer at a time, and one thread uses an object.
class WholeFile {
 public:
  // overwrite: whether it may replace a file that holds something; without it commit() throws if
  // one has appeared meanwhile, and "<path>.tmp" keeps the data. All throw Error(category) with
  // the file and the system's reason, also for a path that is a folder, FIFO, device or link; a
  // full disk is Error(device) where the category is config.
  WholeFile(const std::filesystem::path& path, Category category, bool overwrite = true);
  ~WholeFile();
  WholeFile(WholeFile&&) noexcept;
  WholeFile& operator=(WholeFile&&) noexcept;

  void write(std::string_view bytes);
  void commit();  // once, at the end

 private:
  std::unique_ptr<AtomicWriter> writer_;
};

// Writes a WholeFile.
void write_whole_file(const std::filesystem::path& path, std::string_view content,
                      Category category, bool overwrite = true);

}  // namespace spire
