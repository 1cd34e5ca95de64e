// Writer of zip archives for tests, by minizip, as numpy.savez and numpy.savez_compressed make
// them.
#pragma once
#include <filesystem>
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

}  // namespace spire
