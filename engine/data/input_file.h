// A dataset file's content as a stream of bytes, whether stored plain or as gzip (RFC 1952; told by
// its first two bytes 1f 8b, not by its name). Every error is Error(data) and names the file.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/read_file.h"
#include "engine/data/steady_file.h"

namespace spire::inline data {

// The existing one of `path`, `path`.gz and `path` without .gz; empty when there is none.
std::filesystem::path find_input(const std::filesystem::path& path);
std::filesystem::path existing_input(const std::filesystem::path& path);  // throws when none is

class InputFile {
 public:
  // Throws what RegularFile throws.
  explicit InputFile(std::filesystem::path path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Fills `out`, or less of it when the content ends there; returns the bytes written. Throws for
  // damaged or truncated gzip data: its CRC is checked by the read that meets the content's end.
  // That read throws FileChanged where the file was written since it was opened.
  size_t read(std::span<uint8_t> out);

  // All that is left, `most` bytes at most: what is longer is refused.
  std::string read_text(size_t most);

  const std::filesystem::path& path() const { return file_.path(); }
  // No content of this file is longer: its size; of gzip 256 MiB or 64 times its size, whichever is
  // more. Reading throws for what unpacks to more than that.
  uint64_t max_bytes() const;

 private:
  struct Inflater;

  bool refill();  // next chunk_ of the raw file; false at its end
  size_t read_plain(std::span<uint8_t> out);
  size_t read_gzip(std::span<uint8_t> out);
  [[noreturn]] void fail_gzip(const char* what) const;

  RegularFile file_;
  FileStamp stamp_;  // when it was opened
  std::vector<uint8_t> buffer_;
  std::span<const uint8_t> chunk_;      // unread part of buffer_
  uint64_t unpacked_ = 0;               // bytes of gzip's content so far
  uint64_t raw_offset_ = 0;             // file offset of chunk_'s end
  std::unique_ptr<Inflater> inflater_;  // null for a plain file
};

}  // namespace spire::inline data
