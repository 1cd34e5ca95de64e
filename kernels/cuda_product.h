// Products of matrices on a GPU: y = a' b' [+ bias] [through relu], batched. All matrices lie row
// by row. In cuda_product_cublaslt.cpp by cuBLASLt; tests/emulation has loops in its place.
#pragma once
#include <cstdint>
#include <memory>

#include <spire/kernels/kernel.h>

namespace spire {

struct ProductShape {
  int64_t batch = 1;            // matrices of each operand, one behind the other
  int64_t m = 1, n = 1, k = 1;  // y (m, n), a' (m, k), b' (k, n)
  bool transpose_a = false;     // a is stored (k, m)
  bool transpose_b = false;     // b is stored (n, k)
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

// Prepared once: the algorithm is chosen here, by cuBLASLt's own rules, and the same for the same
// shapes, library and kind of device; so are its bits. Sums are fp32.
class CudaProduct {
 public:
  // libraries: of the device that is the thread's current one. Throws Error(device).
  CudaProduct(const ProductShape& shape, CudaLibraries* libraries);
  ~CudaProduct();

  size_t workspace_bytes() const;
  void run(const ProductPointers& pointers, void* stream) const;

 private:
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

}  // namespace spire
