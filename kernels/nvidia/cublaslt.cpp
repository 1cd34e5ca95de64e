#include "kernels/nvidia/cublaslt.h"

#include <dlfcn.h>

#include <spire/error.h>

#include "engine/device/cuda_error.h"

namespace spire::inline kernels {
namespace {

// Opens the library and never closes it: its kernels may still run, and a process opens it once.
void* open_library() {
  std::string file = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  if (void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  fail(Category::device, "{}: {}; install cuBLAS for CUDA {}", file, ::dlerror(), CUBLAS_VER_MAJOR);
}

// Looks a function up by name; its type is the member's.
template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (!function)
    fail(Category::device, "cuBLASLt has no {}: it is too old; install a newer one", name);
}

}  // namespace

Cublaslt::Cublaslt() {
  void* library = open_library();
  find(library, "cublasLtCreate", create);
  find(library, "cublasLtDestroy", destroy);
  find(library, "cublasLtGetStatusString", status_string);
  find(library, "cublasLtGetVersion", version);
  find(library, "cublasLtMatmul", matmul);
  find(library, "cublasLtMatmulAlgoCheck", check_algorithm);
  find(library, "cublasLtMatmulAlgoConfigGetAttribute", get_setting);
  find(library, "cublasLtMatmulAlgoGetHeuristic", find_algorithms);
  find(library, "cublasLtMatmulDescCreate", create_product);
  find(library, "cublasLtMatmulDescDestroy", destroy_product);
  find(library, "cublasLtMatmulDescSetAttribute", set_product);
  find(library, "cublasLtMatrixLayoutCreate", create_layout);
  find(library, "cublasLtMatrixLayoutDestroy", destroy_layout);
  find(library, "cublasLtMatrixLayoutSetAttribute", set_layout);
  find(library, "cublasLtMatmulPreferenceCreate", create_preference);
  find(library, "cublasLtMatmulPreferenceDestroy", destroy_preference);
  find(library, "cublasLtMatmulPreferenceSetAttribute", set_preference);
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

}  // namespace spire::inline kernels
