// What the kernels of one GPU share of NVIDIA's libraries: their handles, and how they may compute.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/device/device.h"

namespace spire::inline kernels {

struct Cublaslt;
struct Cudnn;
struct PreparedAttention;
struct PreparedConvolution;
class PlanStore;
class Tuning;

class CudaLibraries {
 public:
  struct Options {
    bool tf32 = false;  // fp32 products and convolutions in TF32, with 10 bits of fraction
    bool cudnn_attention = true;                  // where it can; else Spire's own kernels alone
    size_t product_workspace = size_t{32} << 20;  // most that one product may ask for
    size_t convolution_workspace = size_t{256} << 20;
    size_t attention_workspace = size_t{512} << 20;  // less means more runs a pass
    // Knows and keeps which engine computes what; outlives the libraries. Null: those that the
    // libraries propose first.
    Tuning* tuning = nullptr;
  };
  // Opens cuBLASLt: it takes 200 MB and a quarter of a second, so not before a GPU is in use.
  // Throws Error(device) where it is not found. REQUIRES: the device is the thread's current one.
  // same_gpu: others of this GPU with the same options, whose plans these share; they need not
  // stay.
  CudaLibraries(DeviceId device, const Options& options, const CudaLibraries* same_gpu = nullptr);
  ~CudaLibraries();

  DeviceId device() const { return device_; }
  const Options& options() const { return options_; }
  const Cublaslt& cublaslt() const { return *cublaslt_; }  // cublaslt.h
  // cudnn.h. Opened when first asked for, as not every model needs it. Throws
  // Error(device). REQUIRES: the device is the thread's current one.
  const Cudnn& cudnn() const;
  // What choices of engines are for: "NVIDIA H100 80GB HBM3, compute 9.0, cuDNN 9.19.0, cuBLASLt
  // 13.0.2". Opens cuDNN.
  std::string kind() const;
  // Where compiled plans are kept; null: nowhere.
  PlanStore* plan_store() const;
  // What was prepared for convolutions, by what they are: those of the same shape share it, on all
  // logical devices of the GPU. One thread at a time.
  std::map<std::string, std::shared_ptr<const PreparedConvolution>>& convolutions() {
    return plans_->convolutions;
  }
  // And for attention; null where that is the own kernel's.
  std::map<std::string, std::shared_ptr<const PreparedAttention>>& attentions() {
    return plans_->attentions;
  }

 private:
  // A plan refers to the handle it was made with, which stays as long.
  struct Plans {
    std::vector<std::shared_ptr<const Cudnn>> made_with;
    std::map<std::string, std::shared_ptr<const PreparedConvolution>> convolutions;
    std::map<std::string, std::shared_ptr<const PreparedAttention>> attentions;
  };

  DeviceId device_;
  Options options_;
  std::unique_ptr<Cublaslt> cublaslt_;
  mutable std::once_flag cudnn_opened_;
  mutable std::shared_ptr<const Cudnn> cudnn_;
  std::shared_ptr<Plans> plans_;
};

// Those of a GPU, or null for a CPU.
std::unique_ptr<CudaLibraries> open_cuda_libraries(DeviceId device,
                                                   const CudaLibraries::Options& options,
                                                   const CudaLibraries* same_gpu = nullptr);

}  // namespace spire::inline kernels
