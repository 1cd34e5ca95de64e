// Byte stream of a dataset file, plain or gzip (RFC 1952, recognized by its first bytes 1f 8b), and
// functions that find such files. Every error is Error(data) and names the file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/read_file.h"
#include "engine/data/change_detection.h"

namespace spire {

// Return `path` if it exists, else it with .gz added or removed. If neither exists, find_input()
// returns an empty path and existing_input() throws.
std::filesystem::path find_input(const std::filesystem::path& path);
std::filesystem::path existing_input(const std::filesystem::path& path);

// Returns $SPIRE_DATA/name, ./data/name, /usr/share/datasets/name: where data.path: auto looks.
std::vector<std::filesystem::path> standard_dataset_folders(const std::string& name);
// Returns the first folder with `file`, plain or .gz; else throws, naming all and `advice`.
std::filesystem::path find_dataset_folder(const std::vector<std::filesystem::path>& folders,
                                          const std::string& file, const std::string& advice);

class InputFile {
 public:
  explicit InputFile(std::filesystem::path path);  // throws what RegularFile throws
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Fills `out` and returns the number of bytes written, which is smaller only at the end of the
  // content. Throws for damaged gzip data, and at the end FileChanged if the file was written.
  size_t read(std::span<uint8_t> out);

  // Reads the rest of the content. Throws if it is longer than `max_length` bytes.
  std::string read_text(size_t max_length);

  const std::filesystem::path& path() const { return file_.path(); }
  // Returns a bound of the content's length: the file's size; for gzip max(64 * size, 256 MiB).
  uint64_t max_bytes() const;

 private:
  struct Inflater;

  bool refill();  // reads the next chunk_ of the file; returns false at its end
  size_t read_plain(std::span<uint8_t> out);
  size_t read_gzip(std::span<uint8_t> out);
  [[noreturn]] void fail_gzip(const char* reason) const;

  RegularFile file_;
  FileStamp stamp_;  // of the file when it was opened
  std::vector<uint8_t> buffer_;
  std::span<const uint8_t> chunk_;      // unread part of buffer_
  uint64_t unpacked_ = 0;               // bytes of content that gzip data has given so far
  uint64_t raw_offset_ = 0;             // file offset of chunk_'s end
  std::unique_ptr<Inflater> inflater_;  // null for a plain file
};

}  // namespace spire
