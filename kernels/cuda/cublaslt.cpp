#include "kernels/cuda/cublaslt.h"

#include "engine/base/fail.h"
#include "engine/device/cuda_error.h"

namespace spire {

Cublaslt::Cublaslt() {
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
