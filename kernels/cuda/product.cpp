// cuBLASLt is column-major: a row-major y (m, n) is its y^T (n, m), and
//   y^T = b'^T a'^T
// so b is its first operand and a its second, each unchanged in memory.
#include "kernels/cuda/product.h"

#include <cstring>
#include <sstream>

#include "engine/base/fail.h"
#include "engine/device/device_memory.h"
#include "kernels/cuda/cublaslt.h"
#include "kernels/cuda/libraries.h"

namespace spire {
namespace {

cudaDataType_t cuda_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return CUDA_R_32F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
    default:
      fail(Category::unexpected, "no product of {}", to_string(dtype));
  }
}

// A handle that cuBLASLt destroys by a function of its own.
template <typename T>
using Owned = std::unique_ptr<std::remove_pointer_t<T>, cublasStatus_t (*)(T)>;

// Alignment of a whole matrix, in bytes. That of rows follows from their length.
constexpr auto alignment = static_cast<uint32_t>(tensor_alignment);

using Heuristic = cublasLtMatmulHeuristicResult_t;

// Writes "product 130100 <the algorithm's bytes as hexadecimal words>". cuBLASLt's header promises
// that the bytes mean the same within one version.
std::string algorithm_text(const cublasLtMatmulAlgo_t& algorithm, size_t version) {
  std::string text = fmt::format("product {}", version);
  for (uint64_t word : algorithm.data) text += fmt::format(" {:016x}", word);
  return text;
}

std::optional<cublasLtMatmulAlgo_t> read_algorithm(const std::string& text, size_t version) {
  std::istringstream words(text);
  std::string kind;
  size_t written_by = 0;
  if (!(words >> kind >> written_by) || kind != "product" || written_by != version)
    return std::nullopt;
  cublasLtMatmulAlgo_t algorithm{};
  for (uint64_t& word : algorithm.data) words >> std::hex >> word;
  // Another spelling of the same bytes was not written by algorithm_text.
  if (!words || algorithm_text(algorithm, version) != text) return std::nullopt;
  return algorithm;
}

// Returns the ways in which an algorithm may split k: partial sums in fp32, added up in an order
// that the shape fixes. Not "in place": there blocks take turns at the result in no fixed order,
// and round it each time if it has 16 bits.
uint32_t reduction_schemes(DType result) {
  uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (result == DType::f32) schemes |= CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  return schemes;
}

}  // namespace

// cuBLASLt's description of a product, and the algorithm.
struct CudaProduct::Prepared {
  Prepared(const ProductShape& s, const CudaLibraries& libraries)
      : lt(libraries.cublaslt()),
        sums_rows(s.row_sums),
        max_workspace(libraries.options().product_workspace),
        schemes(reduction_schemes(s.result_dtype)),
        product(nullptr, lt.destroy_product),
        first(make_layout(s.operand_dtype, s.batch, s.transpose_b ? s.n : s.k,
                          s.transpose_b ? s.k : s.n)),
        second(make_layout(s.operand_dtype, s.batch, s.transpose_a ? s.k : s.m,
                           s.transpose_a ? s.m : s.k, s.pitch_a)),
        result(make_layout(s.result_dtype, s.batch, s.m, s.n)) {
    make_product(s, libraries.options().tf32);
  }

  void make_product(const ProductShape& s, bool tf32) {
    bool fast = tf32 && s.operand_dtype == DType::f32;
    cublasLtMatmulDesc_t made = nullptr;
    lt.check(lt.create_product(&made, fast ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                               CUDA_R_32F),
             "cublasLtMatmulDescCreate");
    product.reset(made);
    set(CUBLASLT_MATMUL_DESC_TRANSA, s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    // Sums of the second operand over k are the gradient of a bias, where a' is dy^T.
    cublasLtEpilogue_t vectors = s.row_sums ? CUBLASLT_EPILOGUE_BGRADB : CUBLASLT_EPILOGUE_BIAS;
    bool any = s.bias || s.row_sums;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, any ? vectors : CUBLASLT_EPILOGUE_DEFAULT);
    if (!any) return;
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type(s.row_sums ? DType::f32 : s.operand_dtype));
    // The heuristic needs the pointer's alignment; run() sets the real pointer.
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER,
        reinterpret_cast<const void*>(uintptr_t{tensor_alignment}));
  }

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) const {
    lt.check(lt.set_product(product.get(), attribute, &value, sizeof value),
             "cublasLtMatmulDescSetAttribute");
  }

  // Describes `batch` row-major matrices (rows, columns). pitch: elements from one row to the next;
  // 0: `columns`.
  Owned<cublasLtMatrixLayout_t> make_layout(DType dtype, int64_t batch, int64_t rows,
                                            int64_t columns, int64_t pitch = 0) const {
    if (pitch == 0) pitch = columns;
    cublasLtMatrixLayout_t made = nullptr;
    lt.check(lt.create_layout(&made, cuda_type(dtype), static_cast<uint64_t>(columns),
                              static_cast<uint64_t>(rows), pitch),
             "cublasLtMatrixLayoutCreate");
    Owned<cublasLtMatrixLayout_t> layout(made, lt.destroy_layout);
    auto count = static_cast<int32_t>(batch);
    int64_t stride = rows * pitch;
    lt.check(lt.set_layout(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
             "cublasLtMatrixLayoutSetAttribute");
    lt.check(
        lt.set_layout(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
        "cublasLtMatrixLayoutSetAttribute");
    return layout;
  }

  // Returns algorithms in the order in which cuBLASLt ranks them.
  std::vector<Heuristic> propose(size_t most) const {
    cublasLtMatmulPreference_t made = nullptr;
    lt.check(lt.create_preference(&made), "cublasLtMatmulPreferenceCreate");
    Owned<cublasLtMatmulPreference_t> preference(made, lt.destroy_preference);
    auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      lt.check(lt.set_preference(made, attribute, &value, sizeof value),
               "cublasLtMatmulPreferenceSetAttribute");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, max_workspace);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
    for (auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      prefer(attribute, alignment);
    std::vector<Heuristic> algorithms(most);
    int found = 0;
    cublasStatus_t status =
        lt.find_algorithms(lt.handle, product.get(), first.get(), second.get(), result.get(),
                           result.get(), made, static_cast<int>(most), algorithms.data(), &found);
    // No algorithm for such a product; older versions call row sums an invalid value.
    bool none = status == CUBLAS_STATUS_NOT_SUPPORTED ||
                (sums_rows && status == CUBLAS_STATUS_INVALID_VALUE);
    if (none) return {};
    lt.check(status, "cublasLtMatmulAlgoGetHeuristic");
    algorithms.resize(static_cast<size_t>(found));
    std::erase_if(algorithms, [&](const Heuristic& a) {
      return a.state != CUBLAS_STATUS_SUCCESS || !keeps_to_schemes(a.algo);
    });
    return algorithms;
  }

  // Sets the algorithm. Returns false if it cannot compute the product here.
  bool take(const cublasLtMatmulAlgo_t& written) {
    algorithm = {};
    if (lt.check_algorithm(lt.handle, product.get(), first.get(), second.get(), result.get(),
                           result.get(), &written, &algorithm) != CUBLAS_STATUS_SUCCESS)
      return false;
    algorithm.algo = written;
    return algorithm.workspaceSize <= max_workspace && keeps_to_schemes(written);
  }

  bool keeps_to_schemes(const cublasLtMatmulAlgo_t& a) const {
    uint32_t scheme = 0;
    size_t written = 0;
    lt.check(
        lt.get_setting(&a, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme, sizeof scheme, &written),
        "cublasLtMatmulAlgoConfigGetAttribute");
    return (scheme & ~schemes) == 0;
  }

  const Cublaslt& lt;
  bool sums_rows;
  size_t max_workspace;
  uint32_t schemes;  // mask of the reduction schemes that may be used
  Owned<cublasLtMatmulDesc_t> product;
  Owned<cublasLtMatrixLayout_t> first, second, result;
  Heuristic algorithm{};
};

CudaProduct::CudaProduct(std::unique_ptr<Prepared> prepared) : prepared_(std::move(prepared)) {}
CudaProduct::CudaProduct(CudaProduct&&) noexcept = default;
CudaProduct& CudaProduct::operator=(CudaProduct&&) noexcept = default;
CudaProduct::~CudaProduct() {}

std::vector<CudaProduct> CudaProduct::find(const ProductShape& shape, CudaLibraries* libraries,
                                           size_t most) {
  require(libraries != nullptr, "a product needs the device's libraries");
  std::vector<CudaProduct> found;
  for (const Heuristic& algorithm : Prepared(shape, *libraries).propose(most)) {
    auto prepared = std::make_unique<Prepared>(shape, *libraries);
    prepared->algorithm = algorithm;
    found.push_back(CudaProduct(std::move(prepared)));
  }
  return found;
}

std::optional<CudaProduct> CudaProduct::recall(const ProductShape& shape, CudaLibraries* libraries,
                                               const std::string& algorithm) {
  require(libraries != nullptr, "a product needs the device's libraries");
  auto written = read_algorithm(algorithm, libraries->cublaslt().version());
  if (!written) return std::nullopt;
  auto prepared = std::make_unique<Prepared>(shape, *libraries);
  if (!prepared->take(*written)) return std::nullopt;
  return CudaProduct(std::move(prepared));
}

bool CudaProduct::sums_rows() const {
  return prepared_->sums_rows;
}

std::string CudaProduct::algorithm() const {
  return algorithm_text(prepared_->algorithm.algo, prepared_->lt.version());
}

size_t CudaProduct::workspace_bytes() const {
  return prepared_->algorithm.workspaceSize;
}

void CudaProduct::run(const ProductPointers& p, void* stream) const {
  const Prepared& d = *prepared_;
  // The pointer to bias or sums is part of the description, which is why one thread at a time may
  // run this.
  if (d.sums_rows)
    d.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.row_sums);
  else if (p.bias)
    d.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
  float one = 1, zero = 0;
  d.lt.check(
      d.lt.matmul(d.lt.handle, d.product.get(), &one, p.b, d.first.get(), p.a, d.second.get(),
                  &zero, p.y, d.result.get(), p.y, d.result.get(), &d.algorithm.algo, p.workspace,
                  workspace_bytes(), static_cast<cudaStream_t>(stream)),
      "cublasLtMatmul");
}

}  // namespace spire
