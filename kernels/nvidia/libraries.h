// NVIDIA's libraries on one GPU: the handles, options and prepared plans that its kernels share.
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
    bool cudnn_attention = true;  // false: native kernels only
    // The largest workspaces, in bytes.
    size_t product_workspace = size_t{32} << 20;
    size_t convolution_workspace = size_t{256} << 20;
    size_t attention_workspace = size_t{512} << 20;  // a pass that needs more takes several runs
    // Choices of engines; outlives the libraries. Null: the engines that libraries rank first.
    Tuning* tuning = nullptr;
  };
  // Opens cuBLASLt, which takes 200 MB and a quarter of a second. Throws Error(device) if it is
  // missing. same_gpu: other libraries of this GPU, with the same options, that share their plans
  // and may be closed earlier. REQUIRES, as cudnn(): the device is the thread's current one.
  CudaLibraries(DeviceId device, const Options& options, const CudaLibraries* same_gpu = nullptr);
  ~CudaLibraries();

  DeviceId device() const { return device_; }
  const Options& options() const { return options_; }
  const Cublaslt& cublaslt() const { return *cublaslt_; }
  const Cudnn& cudnn() const;  // opens cuDNN at the first call; throws Error(device)
  // Returns the device part of keys: "NVIDIA H100 80GB HBM3, compute 9.0, cuDNN 9.19.0, cuBLASLt
  // 13.0.2". Opens cuDNN.
  std::string kind() const;
  PlanStore* plan_store() const;  // null: none
  // Caches of prepared operations by shape, shared by all logical devices of the GPU, for one
  // thread at a time. A null attention means that the native kernel is chosen.
  std::map<std::string, std::shared_ptr<const PreparedConvolution>>& convolutions() {
    return plans_->convolutions;
  }
  std::map<std::string, std::shared_ptr<const PreparedAttention>>& attentions() {
    return plans_->attentions;
  }

 private:
  // A plan refers to the handle it was made with, so `made_with` keeps the handles.
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

// Opens the libraries of a GPU; returns null for a CPU.
std::unique_ptr<CudaLibraries> open_cuda_libraries(DeviceId device,
                                                   const CudaLibraries::Options& options,
                                                   const CudaLibraries* same_gpu = nullptr);

}  // namespace spire::inline kernels
