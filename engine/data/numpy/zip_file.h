// Zip archives, also those of more than 4 GiB (zip64): entries that are stored or deflated. Format:
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/data/numpy/byte_source.h"

namespace spire::inline data {

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

}  // namespace spire::inline data
