// cuBLASLt loaded at run time: a handle and the functions that Spire calls.
#pragma once
#include <cublasLt.h>

#include "engine/device/nvidia_library.h"

namespace spire {

struct Cublaslt {
  Cublaslt();  // throws Error(device) if the library is missing or too old
  ~Cublaslt();
  Cublaslt(const Cublaslt&) = delete;
  Cublaslt& operator=(const Cublaslt&) = delete;

  const NvidiaLibrary& library = cublaslt_library();
  SPIRE_LIBRARY_FUNCTION(create, cublasLtCreate);
  SPIRE_LIBRARY_FUNCTION(destroy, cublasLtDestroy);
  SPIRE_LIBRARY_FUNCTION(status_string, cublasLtGetStatusString);
  SPIRE_LIBRARY_FUNCTION(version, cublasLtGetVersion);
  SPIRE_LIBRARY_FUNCTION(matmul, cublasLtMatmul);
  SPIRE_LIBRARY_FUNCTION(check_algorithm, cublasLtMatmulAlgoCheck);
  SPIRE_LIBRARY_FUNCTION(get_setting, cublasLtMatmulAlgoConfigGetAttribute);
  SPIRE_LIBRARY_FUNCTION(find_algorithms, cublasLtMatmulAlgoGetHeuristic);
  SPIRE_LIBRARY_FUNCTION(create_product, cublasLtMatmulDescCreate);
  SPIRE_LIBRARY_FUNCTION(destroy_product, cublasLtMatmulDescDestroy);
  SPIRE_LIBRARY_FUNCTION(set_product, cublasLtMatmulDescSetAttribute);
  SPIRE_LIBRARY_FUNCTION(create_layout, cublasLtMatrixLayoutCreate);
  SPIRE_LIBRARY_FUNCTION(destroy_layout, cublasLtMatrixLayoutDestroy);
  SPIRE_LIBRARY_FUNCTION(set_layout, cublasLtMatrixLayoutSetAttribute);
  SPIRE_LIBRARY_FUNCTION(create_preference, cublasLtMatmulPreferenceCreate);
  SPIRE_LIBRARY_FUNCTION(destroy_preference, cublasLtMatmulPreferenceDestroy);
  SPIRE_LIBRARY_FUNCTION(set_preference, cublasLtMatmulPreferenceSetAttribute);

  cublasLtHandle_t handle = nullptr;

  // Throws unless `status` is success: the device's error if there is one (check_device), else
  // Error(device) that names the call.
  void check(cublasStatus_t status, const char* call) const;
};

}  // namespace spire
