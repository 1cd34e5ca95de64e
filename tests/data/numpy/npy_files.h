// Writer of .npy files for tests, as numpy.save writes them.
#pragma once
#include <string>
#include <vector>

#include "tests/data/numpy/npy_bytes.h"
#include "tests/data/test_files.h"

namespace spire {

// As npy_bytes().
template <typename T>
void write_npy(const std::filesystem::path& path, const std::string& descr,
               const std::string& shape, const std::vector<T>& values, uint8_t version = 1,
               const std::string& order = "False") {
  write_file(path, npy_bytes(descr, shape, values, version, order));
}

}  // namespace spire
