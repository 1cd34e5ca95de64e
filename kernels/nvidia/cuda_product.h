// Products of matrices on a GPU: y = a' b' [+ bias] [through relu], batched. All matrices lie row
// by row. In cuda_product_cublaslt.cpp by cuBLASLt; tests/emulation has loops in its place.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace spire::inline kernels {

struct ProductShape {
  int64_t batch = 1;            // matrices of each operand, one behind the other
  int64_t m = 1, n = 1, k = 1;  // y (m, n), a' (m, k), b' (k, n)
  bool transpose_a = false;     // a is stored (k, m)
  bool transpose_b = false;     // b is stored (n, k)
  int64_t pitch_a = 0;          // elements from a row of a, as stored, to the next; 0: a row's
  DType operands = DType::f32;  // of a, b and bias: fp32, bf16 or fp16
  DType result = DType::f32;    // the same, or fp32
  bool bias = false;            // (n), added to each row
  bool relu = false;
};

// Matrices are at tensor_alignment, the workspace is at workspace_alignment.
struct ProductPointers {
  const void *a = nullptr, *b = nullptr, *bias = nullptr;
  void *y = nullptr, *workspace = nullptr;
};

// A product with the algorithm that computes it. Sums are fp32 and rounded once, to the result.
// Algorithms are deterministic: the same one gives the same bits on the same kind of device. One
// that splits k keeps the parts' sums in fp32 and adds them up in a pass of its own.
class CudaProduct {
 public:
  // By the algorithm that cuBLASLt thinks the fastest: the same for the same shapes, library and
  // kind of device. libraries: of the device that is the thread's current one. Throws
  // Error(device), as the other two do.
  CudaProduct(const ProductShape& shape, CudaLibraries* libraries);
  ~CudaProduct();
  CudaProduct(CudaProduct&&) noexcept;
  CudaProduct& operator=(CudaProduct&&) noexcept;

  // By different algorithms, `most` of them at most, what cuBLASLt thinks the fastest first.
  static std::vector<CudaProduct> find(const ProductShape& shape, CudaLibraries* libraries,
                                       size_t most);
  // By the algorithm of that text; none where it is no such text, is of another version of cuBLASLt
  // or cannot compute this product here.
  static std::optional<CudaProduct> recall(const ProductShape& shape, CudaLibraries* libraries,
                                           const std::string& algorithm);

  std::string algorithm() const;  // one line: "product" and what the library writes down for it
  size_t workspace_bytes() const;
  // REQUIRES: one thread at a time.
  void run(const ProductPointers& pointers, void* stream) const;

 private:
  struct Prepared;
  explicit CudaProduct(std::unique_ptr<Prepared> prepared);

  std::unique_ptr<Prepared> prepared_;
};

}  // namespace spire::inline kernels
