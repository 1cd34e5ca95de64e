// Zip archives, also those of more than 4 GiB (zip64): entries that are stored or deflated. Format:
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/data/input_file.h"

namespace spire {

// The bytes of a file, of a part of it, or of a part that was decoded into memory.
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
  // Throws Error(data) if the bytes do not match `crc`; does nothing without one.
  void verify() const;

 private:
  std::shared_ptr<const ChangeDetectingReader> file_;
  std::string name_, location_;
  uint64_t begin_ = 0, bytes_ = 0;
  std::optional<uint32_t> crc_ = {};
  std::shared_ptr<const std::vector<std::byte>> decoded_ = {};
};

// Returns whether a file begins as a zip archive does.
bool is_zip(const std::filesystem::path& path);

class ZipFile {  // thread-safe, and so is what open() returns
 public:
  // Reads the archive's directory. Throws Error(data) where it is no intact archive.
  explicit ZipFile(const std::filesystem::path& path);
  ~ZipFile();

  const std::filesystem::path& path() const { return file_->path(); }
  std::vector<std::string> names() const;  // of the entries, in the archive's order
  // Of entries of one name, the last one counts.
  bool has(const std::string& name) const;

  // Returns the bytes of an entry: a stored one is read in place, a deflated one is decoded into
  // memory, and its checksum compared. Throws Error(data) for a damaged entry, one that is
  // encrypted or otherwise compressed, and where there is none of that name.
  ByteSource open(const std::string& name) const;

 private:
  struct Entry;
  class Directory;
  const Entry* find(const std::string& name) const;
  void require_readable(const Entry& entry) const;
  uint64_t begin_of(const Entry& entry) const;
  std::vector<std::byte> decode(const Entry& entry, uint64_t begin) const;

  std::shared_ptr<const ChangeDetectingReader> file_;
  std::vector<Entry> entries_;
};

}  // namespace spire
