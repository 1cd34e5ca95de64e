// Fuzz target of .npy files: any bytes are an array whose rows can be read, or are refused.
#include "engine/data/numpy/npy_array.h"
#include "tests/data/numpy/npy_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

namespace spire::fuzz {

int consume(const uint8_t* data, size_t size) {
  MemoryFile file(data, size);
  return parse_or_refuse(Category::data, [&] {
    NpyArray array(file.path());
    size_t elements = 1;
    for (size_t axis = 1; axis < array.shape().size(); ++axis)
      elements *= static_cast<size_t>(array.shape()[axis]);
    std::vector<std::byte> memory, out(elements * sizeof(double));
    for (DType dtype : {DType::i32, DType::f32, DType::f64})
      array.read(array.rows() - 1, 1, dtype, memory, out.data());
  });
}

std::vector<Bytes> seeds() {
  return {npy_bytes("<f4", "(3, 2)", std::vector<float>{1, 2, 3, 4, 5, 6}),
          npy_bytes("|u1", "(2,)", Bytes{1, 2}, 2),
          npy_bytes("<i8", "(1, 1, 1)", std::vector<int64_t>{-1}, 3)};
}

}  // namespace spire::fuzz
