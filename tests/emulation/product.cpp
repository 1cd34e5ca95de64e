// Loops in the place of cuBLASLt, in two orders: its algorithms, too, differ in the last bits.
#include "kernels/cuda/product.h"

#include <algorithm>

#include "cuda_runtime.h"
#include "engine/base/fail.h"
#include "engine/device/cuda_error.h"
#include "kernels/kernel.h"
#include "pointers.h"

namespace spire {

struct CudaProduct::Prepared {
  ProductShape shape;
  bool backwards = false;
};

CudaProduct::CudaProduct(std::unique_ptr<Prepared> prepared) : prepared_(std::move(prepared)) {}
CudaProduct::CudaProduct(CudaProduct&&) noexcept = default;
CudaProduct& CudaProduct::operator=(CudaProduct&&) noexcept = default;
CudaProduct::~CudaProduct() {}

// Row sums come with products of many rows only, so that the tests see both ways.
std::vector<CudaProduct> CudaProduct::find(const ProductShape& shape, CudaLibraries*, size_t most) {
  std::vector<CudaProduct> found;
  if (shape.row_sums && shape.m % 16 != 0) return found;
  for (bool backwards : {false, true})
    if (found.size() < most)
      found.push_back(CudaProduct(std::make_unique<Prepared>(Prepared{shape, backwards})));
  return found;
}

std::optional<CudaProduct> CudaProduct::recall(const ProductShape& shape, CudaLibraries* libraries,
                                               const std::string& algorithm) {
  for (CudaProduct& product : find(shape, libraries, 2))
    if (product.algorithm() == algorithm) return std::move(product);
  return std::nullopt;
}

bool CudaProduct::sums_rows() const {
  return prepared_->shape.row_sums;
}

std::string CudaProduct::algorithm() const {
  return prepared_->backwards ? "product backwards" : "product forwards";
}

size_t CudaProduct::workspace_bytes() const {
  return 48;
}

namespace {

int64_t pitch_a(const ProductShape& s) {
  return s.pitch_a > 0 ? s.pitch_a : s.transpose_a ? s.m : s.k;
}

template <typename In, typename Out>
void multiply(const ProductShape& s, bool backwards, const In* a, const In* b, const In* bias,
              Out* y) {
  int64_t pitch = pitch_a(s);
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      float sum = 0;
      for (int64_t step = 0; step < s.k; ++step) {
        int64_t l = backwards ? s.k - 1 - step : step;
        auto left = static_cast<float>(a[s.transpose_a ? l * pitch + i : i * pitch + l]);
        sum += left * static_cast<float>(b[s.transpose_b ? j * s.k + l : l * s.n + j]);
      }
      if (s.bias) sum += static_cast<float>(bias[j]);
      y[i * s.n + j] = Out(sum);
    }
  }
}

template <typename In>
void sum_rows(const ProductShape& s, const In* a, float* sums) {
  int64_t pitch = pitch_a(s);
  for (int64_t i = 0; i < s.m; ++i) {
    sums[i] = 0;
    for (int64_t l = 0; l < s.k; ++l)
      sums[i] += static_cast<float>(a[s.transpose_a ? l * pitch + i : i * pitch + l]);
  }
}

void multiply_all(const ProductShape& s, bool backwards, const ProductPointers& p) {
  with_any_float_type(s.operand_dtype, [&]<typename In>(In) {
    if (s.row_sums) sum_rows(s, static_cast<const In*>(p.a), p.row_sums);
    with_any_float_type(s.result_dtype, [&]<typename Out>(Out) {
      for (int64_t i = 0; i < s.batch; ++i)
        multiply(s, backwards,
                 static_cast<const In*>(p.a) + i * pitch_a(s) * (s.transpose_a ? s.k : s.m),
                 static_cast<const In*>(p.b) + i * s.k * s.n, static_cast<const In*>(p.bias),
                 static_cast<Out*>(p.y) + i * s.m * s.n);
    });
  });
}

}  // namespace

void CudaProduct::run(const ProductPointers& p, void* stream) const {
  const ProductShape& s = prepared_->shape;
  require((p.bias != nullptr) == s.bias, "a product's pointers");
  emulation::check_alignment("cuBLASLt", {p.a, p.b, p.bias, p.y}, p.workspace);
  auto work = [s, p, backwards = prepared_->backwards] { multiply_all(s, backwards, p); };
  check_cuda(emulation::put_kernel(static_cast<cudaStream_t>(stream), work), "cublasLtMatmul");
}

}  // namespace spire
