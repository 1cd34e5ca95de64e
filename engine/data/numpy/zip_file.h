// Zip archives, read by minizip: entries that are stored or deflated. Format:
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

class ZipFile {  // not thread-safe; what open() returns is
 public:
  // Reads the archive's directory. Throws Error(data) where it is no intact archive.
  explicit ZipFile(const std::filesystem::path& path);
  ~ZipFile();
  ZipFile(const ZipFile&) = delete;
  ZipFile& operator=(const ZipFile&) = delete;

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
  struct Input;
  void list_entries();
  const Entry* find(const std::string& name) const;
  void select(const Entry& entry) const;
  void check(int result, const std::string& name) const;
  std::vector<std::byte> decode(const Entry& entry) const;

  std::shared_ptr<const ChangeDetectingReader> file_;
  std::unique_ptr<Input> input_;
  std::vector<Entry> entries_;
  void* zip_ = nullptr;  // minizip's unzFile
};

}  // namespace spire::inline data
