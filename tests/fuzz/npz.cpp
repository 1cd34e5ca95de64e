// Fuzz target of .npz archives: any bytes are an archive whose arrays can be read, or are refused.
#include <filesystem>

#include "engine/data/numpy/npy_array.h"
#include "tests/data/numpy/npy_files.h"
#include "tests/data/numpy/zip_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

namespace spire::fuzz {

int consume(const uint8_t* data, size_t size) {
  MemoryFile file(data, size);
  return parse_or_refuse(Category::data, [&] {
    NpySet set(file.path());
    for (const std::string& name : set.names()) {
      auto array = set.open(name);
      array->verify();
      size_t elements = 1;
      for (size_t axis = 1; axis < array->shape().size(); ++axis)
        elements *= static_cast<size_t>(array->shape()[axis]);
      std::vector<std::byte> memory, out(elements * sizeof(double));
      array->read(array->rows() - 1, 1, DType::f64, memory, out.data());
    }
  });
}

std::vector<Bytes> seeds() {
  Bytes x = npy_bytes("<f4", "(3, 2)", std::vector<float>{1, 2, 3, 4, 5, 6});
  Bytes y = npy_bytes("|u1", "(3,)", Bytes{1, 2, 0});
  std::vector<Bytes> all;
  Folder folder;
  for (bool deflated : {false, true}) {
    std::filesystem::path path = folder / "a.npz";
    write_zip(path, {{"x.npy", x, deflated, deflated}, {"y.npy", y, !deflated}});
    all.push_back(file_bytes(path));
  }
  return all;
}

}  // namespace spire::fuzz
