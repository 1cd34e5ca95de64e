// The bytes of a file, of a part of it, or of a part that was decoded into memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/data/change_detection.h"

namespace spire::inline data {

class ByteSource {  // thread-safe; copies share the open file
 public:
  explicit ByteSource(const std::filesystem::path& path);  // all of the file

  // `bytes` bytes of the file from `begin` on, called `name`. crc: of these bytes.
  ByteSource(std::shared_ptr<const ChangeDetectingReader> file, const std::string& name,
             uint64_t begin, uint64_t bytes, uint32_t crc);
  // What a part of the file, called `name`, was decoded to.
  ByteSource(std::shared_ptr<const ChangeDetectingReader> file, const std::string& name,
             std::vector<std::byte> decoded);

  const std::filesystem::path& path() const { return file_->path(); }
  const std::string& name() const { return name_; }          // of the part, or the file's
  const std::string& location() const { return location_; }  // "FILE", or "FILE: NAME" of a part
  uint64_t bytes() const { return bytes_; }

  // Fills `out` from byte `offset` of the source on. REQUIRES: offset + out.size() <= bytes().
  // Throws FileChanged if the file was written since it was opened.
  void read(uint64_t offset, std::span<std::byte> out) const;
  // Throws Error(data) where the bytes of a part are not those of its checksum.
  void verify() const;

 private:
  std::shared_ptr<const ChangeDetectingReader> file_;
  std::string name_, location_;
  uint64_t begin_ = 0, bytes_ = 0;
  std::optional<uint32_t> crc_ = {};
  std::shared_ptr<const std::vector<std::byte>> decoded_ = {};
};

}  // namespace spire::inline data
