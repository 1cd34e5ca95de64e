// Writer of zip archives for tests, by minizip, as numpy.savez and numpy.savez_compressed make
// them.
#pragma once
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <minizip/zip.h>

#include "tests/data/test_files.h"

namespace spire {

struct ZipMember {
  std::string name;
  Bytes bytes;
  bool deflated = false;
  bool zip64 = false;  // the local header has sizes of 64 bits, as NumPy writes it
};

inline void write_zip(const std::filesystem::path& path, const std::vector<ZipMember>& members) {
  zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  ASSERT_NE(zip, nullptr);
  for (const ZipMember& member : members) {
    zip_fileinfo info{};
    ASSERT_EQ(zipOpenNewFileInZip64(zip, member.name.c_str(), &info, nullptr, 0, nullptr, 0,
                                    nullptr, member.deflated ? Z_DEFLATED : 0, 6, member.zip64),
              ZIP_OK);
    ASSERT_EQ(
        zipWriteInFileInZip(zip, member.bytes.data(), static_cast<unsigned>(member.bytes.size())),
        ZIP_OK);
    ASSERT_EQ(zipCloseFileInZip(zip), ZIP_OK);
  }
  ASSERT_EQ(zipClose(zip, nullptr), ZIP_OK);
}

// Writes a large archive as Python's zipfile does, with holes in place of zeros. Checksums are 0.
class LargeZip {
 public:
  explicit LargeZip(const std::filesystem::path& path) : file_(path, std::ios::binary) {}

  // zeros: behind the content.
  void add(const std::string& name, const Bytes& content, uint64_t zeros = 0) {
    uint64_t place = at(), size = content.size() + zeros;
    bool large = size > limit, far = place > limit;
    Bytes header = fields({{'P' | 'K' << 8, 2},
                           {3 | 4 << 8, 2},
                           {45, 2},
                           {0, 2},
                           {0, 2},
                           {0, 4},
                           {0, 4},
                           {ones, 4},
                           {ones, 4},
                           {name.size(), 2},
                           {20, 2}});
    header.insert(header.end(), name.begin(), name.end());
    for (uint8_t byte : fields({{1, 2}, {16, 2}, {size, 8}, {size, 8}})) header.push_back(byte);
    write(header);
    write(content);
    file_.seekp(static_cast<std::streamoff>(zeros), std::ios::cur);
    uint64_t extra = (large ? 16u : 0u) + (far ? 8u : 0u);
    uint64_t stated = large ? ones : size;
    Bytes record = fields({{'P' | 'K' << 8, 2},
                           {1 | 2 << 8, 2},
                           {45, 2},
                           {45, 2},
                           {0, 2},
                           {0, 2},
                           {0, 4},
                           {0, 4},
                           {stated, 4},
                           {stated, 4},
                           {name.size(), 2},
                           {extra == 0 ? 0 : extra + 4, 2},
                           {0, 2},
                           {0, 2},
                           {0, 2},
                           {0, 4},
                           {far ? ones : place, 4}});
    record.insert(record.end(), name.begin(), name.end());
    if (extra > 0)
      for (uint8_t byte : fields({{1, 2}, {extra, 2}})) record.push_back(byte);
    if (large)
      for (uint8_t byte : fields({{size, 8}, {size, 8}})) record.push_back(byte);
    if (far)
      for (uint8_t byte : fields({{place, 8}})) record.push_back(byte);
    directory_.insert(directory_.end(), record.begin(), record.end());
    ++entries_;
  }

  void close() {
    uint64_t begin = at();
    write(directory_);
    uint64_t end = at();
    write(fields({{'P' | 'K' << 8, 2},
                  {6 | 6 << 8, 2},
                  {44, 8},
                  {45, 2},
                  {45, 2},
                  {0, 4},
                  {0, 4},
                  {entries_, 8},
                  {entries_, 8},
                  {directory_.size(), 8},
                  {begin, 8}}));
    write(fields({{'P' | 'K' << 8, 2}, {6 | 7 << 8, 2}, {0, 4}, {end, 8}, {1, 4}}));
    write(fields({{'P' | 'K' << 8, 2},
                  {5 | 6 << 8, 2},
                  {0, 2},
                  {0, 2},
                  {entries_, 2},
                  {entries_, 2},
                  {directory_.size(), 4},
                  {ones, 4},
                  {0, 2}}));
    file_.close();
  }

 private:
  static constexpr uint64_t ones = 0xffffffff, limit = 0x7fffffff;

  struct Field {
    uint64_t value;
    int bytes;
  };
  static Bytes fields(const std::vector<Field>& all) {
    Bytes bytes;
    for (auto [value, count] : all)
      for (int i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(value >> 8 * i));
    return bytes;
  }
  uint64_t at() { return static_cast<uint64_t>(file_.tellp()); }
  void write(const Bytes& bytes) {
    file_.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
  }

  std::ofstream file_;
  Bytes directory_;
  uint64_t entries_ = 0;
};

}  // namespace spire
