// cuBLASLt's functions, found when they are first needed.
#pragma once
#include <cublasLt.h>

namespace spire::inline kernels {

struct Cublaslt {
  Cublaslt();  // throws Error(device) where the library is not found or too old
  ~Cublaslt();
  Cublaslt(const Cublaslt&) = delete;
  Cublaslt& operator=(const Cublaslt&) = delete;

  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtGetStatusString) status_string;
  decltype(&cublasLtGetVersion) version;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulAlgoCheck) check_algorithm;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) get_setting;
  decltype(&cublasLtMatmulAlgoGetHeuristic) find_algorithms;
  decltype(&cublasLtMatmulDescCreate) create_product;
  decltype(&cublasLtMatmulDescDestroy) destroy_product;
  decltype(&cublasLtMatmulDescSetAttribute) set_product;
  decltype(&cublasLtMatrixLayoutCreate) create_layout;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;

  cublasLtHandle_t handle = nullptr;

  // Throws where `status` is not success: what is wrong with the device, if that is why
  // (check_device), else Error(device) naming the call.
  void check(cublasStatus_t status, const char* call) const;
};

}  // namespace spire::inline kernels
