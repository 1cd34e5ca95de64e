// NVIDIA's libraries on one GPU: handles, options and prepared operations that its kernels share.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/device/device.h"

namespace spire {

struct ChosenProduct;
struct Cublaslt;
struct Cudnn;
struct PreparedAttention;
struct PreparedConvolution;
class PlanStore;
class Tuning;

class CudaLibraries {
 public:
  struct Options {
    bool tf32 = false;            // fp32 matrix products and convolutions in TF32 (10-bit fraction)
    bool cudnn_attention = true;  // false: native kernels only
    // The largest workspaces, in bytes.
    size_t product_workspace = size_t{128} << 20;
    size_t convolution_workspace = size_t{256} << 20;
    // A pass of attention that needs more is computed in shares of samples and heads, one by one.
    size_t attention_workspace = size_t{512} << 20;
    // The engines that were chosen (tuning.h); must outlive this object. Null: always take the
    // engine that the library ranks first.
    Tuning* tuning = nullptr;
  };
  // Opens cuBLASLt, which takes 200 MB and a quarter of a second. Throws Error(device) if it is
  // missing. same_gpu: another object for the same GPU with the same options, which shares its
  // caches with this one and may be destroyed first; or null. REQUIRES: the device is the calling
  // thread's current one (cudnn() requires that, too).
  CudaLibraries(DeviceId device, const Options& options, const CudaLibraries* same_gpu = nullptr);
  ~CudaLibraries();

  DeviceId device() const { return device_; }
  const Options& options() const { return options_; }
  const Cublaslt& cublaslt() const { return *cublaslt_; }
  const Cudnn& cudnn() const;  // opens cuDNN at the first call; throws Error(device)
  // Returns the name of the GPU and the libraries, by which stored choices are found: "NVIDIA H100
  // 80GB HBM3, compute 9.0, cuDNN 9.19.0, cuBLASLt 13.0.2". Opens cuDNN.
  std::string kind() const;
  std::string kind_for_products() const;  // the same without cuDNN
  PlanStore* plan_store() const;          // cuDNN plans on disk; null without tuning
  // Caches of prepared operations by shape, shared by all logical devices of the GPU. The caller
  // lets one thread at a time use them. A null entry in attentions() says: Spire's own kernel was
  // chosen.
  std::map<std::string, std::shared_ptr<const PreparedConvolution>>& convolutions() {
    return plans_->convolutions;
  }
  std::map<std::string, std::shared_ptr<const PreparedAttention>>& attentions() {
    return plans_->attentions;
  }
  std::map<std::string, std::shared_ptr<const ChosenProduct>>& products() {
    return plans_->products;
  }

 private:
  // A prepared operation refers to the handle that made it, so `made_with` keeps the handles.
  struct Plans {
    std::vector<std::shared_ptr<const Cudnn>> made_with;
    std::map<std::string, std::shared_ptr<const PreparedConvolution>> convolutions;
    std::map<std::string, std::shared_ptr<const PreparedAttention>> attentions;
    std::map<std::string, std::shared_ptr<const ChosenProduct>> products;
  };

  DeviceId device_;
  Options options_;
  std::string gpu_;  // kind_of_current_gpu(), which takes milliseconds
  std::unique_ptr<Cublaslt> cublaslt_;
  mutable std::once_flag cudnn_opened_;
  mutable std::shared_ptr<const Cudnn> cudnn_;
  std::shared_ptr<Plans> plans_;
};

// Returns "NVIDIA H100 80GB HBM3, compute 9.0" of the thread's current device.
std::string kind_of_current_gpu();

// Opens the libraries of a GPU, which becomes the calling thread's current device; returns null for
// a CPU. Throws Error(device).
std::unique_ptr<CudaLibraries> open_cuda_libraries(DeviceId device,
                                                   const CudaLibraries::Options& options,
                                                   const CudaLibraries* same_gpu = nullptr);

}  // namespace spire
