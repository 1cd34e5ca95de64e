// cuBLASLt thinks in columns: what lies row by row as y (m, n) is its y^T (n, m), and
//   y^T = b'^T a'^T
// so b is its first operand and a its second, each as it lies.
#include <spire/device/alignment.h>
#include <spire/kernels/cublaslt.h>
#include <spire/kernels/cuda_libraries.h>
#include <spire/kernels/cuda_product.h>

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
      fail(Category::unexpected, "no product of {}", name(dtype));
  }
}

// What cuBLASLt destroys by a function of its own.
template <typename T>
using Owned = std::unique_ptr<std::remove_pointer_t<T>, cublasStatus_t (*)(T)>;

// Of matrices as a whole; of their rows only as the shape has it.
constexpr auto alignment = static_cast<uint32_t>(tensor_alignment);

}  // namespace

struct CudaProduct::Prepared {
  Prepared(const ProductShape& s, const CudaLibraries& libraries)
      : lt(libraries.cublaslt()),
        product(nullptr, lt.destroy_product),
        first(
            make_layout(s.operands, s.batch, s.transpose_b ? s.n : s.k, s.transpose_b ? s.k : s.n)),
        second(
            make_layout(s.operands, s.batch, s.transpose_a ? s.k : s.m, s.transpose_a ? s.m : s.k)),
        result(make_layout(s.result, s.batch, s.m, s.n)) {
    make_product(s, libraries.options().tf32);
    choose_algorithm(libraries.options().product_workspace);
  }

  void make_product(const ProductShape& s, bool tf32) {
    bool fast = tf32 && s.operands == DType::f32;
    cublasLtMatmulDesc_t made = nullptr;
    lt.check(lt.create_product(&made, fast ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                               CUDA_R_32F),
             "cublasLtMatmulDescCreate");
    product.reset(made);
    set(CUBLASLT_MATMUL_DESC_TRANSA, s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    if (s.relu) epilogue = CUBLASLT_EPILOGUE_RELU;
    if (s.bias) epilogue = s.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (s.bias) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type(s.operands));
  }

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) const {
    lt.check(lt.set_product(product.get(), attribute, &value, sizeof value),
             "cublasLtMatmulDescSetAttribute");
  }

  // `batch` matrices of so many rows and columns, row by row.
  Owned<cublasLtMatrixLayout_t> make_layout(DType dtype, int64_t batch, int64_t rows,
                                            int64_t columns) const {
    cublasLtMatrixLayout_t made = nullptr;
    lt.check(lt.create_layout(&made, cuda_type(dtype), static_cast<uint64_t>(columns),
                              static_cast<uint64_t>(rows), columns),
             "cublasLtMatrixLayoutCreate");
    Owned<cublasLtMatrixLayout_t> layout(made, lt.destroy_layout);
    auto count = static_cast<int32_t>(batch);
    int64_t stride = rows * columns;
    lt.check(lt.set_layout(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
             "cublasLtMatrixLayoutSetAttribute");
    lt.check(
        lt.set_layout(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
        "cublasLtMatrixLayoutSetAttribute");
    return layout;
  }

  void choose_algorithm(size_t most_workspace) {
    cublasLtMatmulPreference_t made = nullptr;
    lt.check(lt.create_preference(&made), "cublasLtMatmulPreferenceCreate");
    Owned<cublasLtMatmulPreference_t> preference(made, lt.destroy_preference);
    auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      lt.check(lt.set_preference(made, attribute, &value, sizeof value),
               "cublasLtMatmulPreferenceSetAttribute");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_workspace);
    for (auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      prefer(attribute, alignment);
    int found = 0;
    lt.check(lt.find_algorithms(lt.handle, product.get(), first.get(), second.get(), result.get(),
                                result.get(), made, 1, &algorithm, &found),
             "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0) fail(Category::device, "cuBLASLt has no algorithm for a product");
  }

  const Cublaslt& lt;
  Owned<cublasLtMatmulDesc_t> product;
  Owned<cublasLtMatrixLayout_t> first, second, result;
  cublasLtMatmulHeuristicResult_t algorithm{};
};

CudaProduct::CudaProduct(const ProductShape& shape, CudaLibraries* libraries) {
  require(libraries != nullptr, "a product needs the device's libraries");
  prepared_ = std::make_unique<Prepared>(shape, *libraries);
}

CudaProduct::~CudaProduct() {}

size_t CudaProduct::workspace_bytes() const {
  return prepared_->algorithm.workspaceSize;
}

void CudaProduct::run(const ProductPointers& p, void* stream) const {
  const Prepared& d = *prepared_;
  if (p.bias) d.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
  float one = 1, zero = 0;
  d.lt.check(
      d.lt.matmul(d.lt.handle, d.product.get(), &one, p.b, d.first.get(), p.a, d.second.get(),
                  &zero, p.y, d.result.get(), p.y, d.result.get(), &d.algorithm.algo, p.workspace,
                  workspace_bytes(), static_cast<cudaStream_t>(stream)),
      "cublasLtMatmul");
}

}  // namespace spire
