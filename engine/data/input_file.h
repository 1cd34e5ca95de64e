// Byte stream of a dataset file, plain or gzip (RFC 1952, told by its first bytes 1f 8b), and
// lookup of such files. Every error is Error(data) and names the file.
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

namespace spire::inline data {

// Returns the existing one of `path`, `path`.gz and `path` without .gz; empty: none exists.
std::filesystem::path find_input(const std::filesystem::path& path);
std::filesystem::path existing_input(const std::filesystem::path& path);  // throws: none exists

// Returns $SPIRE_DATA/name, ./data/name and /usr/share/datasets/name, for data.path: auto.
std::vector<std::filesystem::path> standard_dataset_folders(const std::string& name);
// Returns the first folder that has `file`, plain or .gz. Throws with all folders, then `advice`.
std::filesystem::path find_dataset_folder(const std::vector<std::filesystem::path>& folders,
                                          const std::string& file, const std::string& advice);

class InputFile {
 public:
  explicit InputFile(std::filesystem::path path);  // throws as RegularFile
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Fills `out`, less at the end, and returns the bytes written. Throws for damaged gzip data.
  size_t read(std::span<uint8_t> out);  // at the end also FileChanged

  // Reads the rest. Throws where it is longer than `max_length` bytes.
  std::string read_text(size_t max_length);

  const std::filesystem::path& path() const { return file_.path(); }
  // Bounds the length of the content: the file's size; for gzip 64 times that, at least 256 MiB.
  uint64_t max_bytes() const;

 private:
  struct Inflater;

  bool refill();  // reads the next chunk_ of the raw file; false at its end
  size_t read_plain(std::span<uint8_t> out);
  size_t read_gzip(std::span<uint8_t> out);
  [[noreturn]] void fail_gzip(const char* reason) const;

  RegularFile file_;
  FileStamp stamp_;  // when it was opened
  std::vector<uint8_t> buffer_;
  std::span<const uint8_t> chunk_;      // unread part of buffer_
  uint64_t unpacked_ = 0;               // bytes of gzip's content so far
  uint64_t raw_offset_ = 0;             // file offset of chunk_'s end
  std::unique_ptr<Inflater> inflater_;  // null for a plain file
};

}  // namespace spire::inline data
