// .npy files, as numpy.save writes them.
#pragma once
#include <string>
#include <vector>

#include "tests/data/test_files.h"

namespace spire {

// descr: "<f4". shape: "(3, 2)". version: 1, or 2 and 3, whose header may be longer.
template <typename T>
Bytes npy_bytes(const std::string& descr, const std::string& shape, const std::vector<T>& values,
                uint8_t version = 1, const std::string& order = "False") {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  size_t start = version == 1 ? 10 : 12;
  while ((start + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  Bytes bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', version, 0};
  for (size_t i = 0; i < start - 8; ++i)
    bytes.push_back(static_cast<uint8_t>(header.size() >> (8 * i)));
  bytes.insert(bytes.end(), header.begin(), header.end());
  auto* first = reinterpret_cast<const uint8_t*>(values.data());
  bytes.insert(bytes.end(), first, first + values.size() * sizeof(T));
  return bytes;
}

// As npy_bytes().
template <typename T>
void write_npy(const std::filesystem::path& path, const std::string& descr,
               const std::string& shape, const std::vector<T>& values, uint8_t version = 1,
               const std::string& order = "False") {
  write_file(path, npy_bytes(descr, shape, values, version, order));
}

}  // namespace spire
