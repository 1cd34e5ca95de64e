#include "kernels/cuda/cublaslt.h"

#include <spire/error.h>

#include "engine/device/cuda_error.h"
#include "engine/device/nvidia_library.h"

namespace spire {
Cublaslt::Cublaslt() {
  const NvidiaLibrary& library = cublaslt_library();
  library.need("cublasLtCreate", create);
  library.need("cublasLtDestroy", destroy);
  library.need("cublasLtGetStatusString", status_string);
  library.need("cublasLtGetVersion", version);
  library.need("cublasLtMatmul", matmul);
  library.need("cublasLtMatmulAlgoCheck", check_algorithm);
  library.need("cublasLtMatmulAlgoConfigGetAttribute", get_setting);
  library.need("cublasLtMatmulAlgoGetHeuristic", find_algorithms);
  library.need("cublasLtMatmulDescCreate", create_product);
  library.need("cublasLtMatmulDescDestroy", destroy_product);
  library.need("cublasLtMatmulDescSetAttribute", set_product);
  library.need("cublasLtMatrixLayoutCreate", create_layout);
  library.need("cublasLtMatrixLayoutDestroy", destroy_layout);
  library.need("cublasLtMatrixLayoutSetAttribute", set_layout);
  library.need("cublasLtMatmulPreferenceCreate", create_preference);
  library.need("cublasLtMatmulPreferenceDestroy", destroy_preference);
  library.need("cublasLtMatmulPreferenceSetAttribute", set_preference);
  check(create(&handle), "cublasLtCreate");
}

Cublaslt::~Cublaslt() {
  if (handle) destroy(handle);
}

void Cublaslt::check(cublasStatus_t status, const char* call) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  check_device(call);
  fail(Category::device, "{}: {}", call, status_string(status));
}

}  // namespace spire
