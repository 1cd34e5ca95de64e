#include <spire/error.h>

#include "engine/device/cuda_error.h"
#include "kernels/nvidia/cuda_attention.h"
#include "kernels/nvidia/cuda_libraries.h"
#include "kernels/nvidia/prepared_attention.h"

namespace spire::inline kernels {
namespace {

CudnnOnDevice current_device() {
  int device = 0, major = 0, minor = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
             "cudaDeviceGetAttribute");
  check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
             "cudaDeviceGetAttribute");
  return {10 * major + minor, cudnnGetVersion()};
}

class AttentionKernel : public Kernel {
 public:
  AttentionKernel(AttentionPass pass, std::shared_ptr<const PreparedAttention> shared,
                  const Cudnn& cudnn)
      : pass_(pass), shared_(std::move(shared)) {
    for (int64_t share = 0; share < shared_->attention.shares(); ++share)
      packs_.emplace_back(cudnn);
  }

  size_t workspace_bytes() const override { return shared_->workspace_bytes(*shared_->plan); }

  void run(const KernelArgs& args) override {
    shared_->run(*shared_->plan, packs_, attention_pointers(pass_, args), args.stream);
  }

 private:
  AttentionPass pass_;
  std::shared_ptr<const PreparedAttention> shared_;
  std::vector<CudnnPack> packs_;
};

}  // namespace

std::unique_ptr<Kernel> choose_attention(const AttentionShape& shape, const NativeAttention& own,
                                         const KernelRequest& request) {
  bool asks = request.cuda && request.cuda->options().cudnn_attention;
  if (!asks || !may_be_cudnns(shape, current_device())) return own.make();
  auto prepared = prepare_attention(shape, own, request);
  if (!prepared) return own.make();
  return std::make_unique<AttentionKernel>(shape.pass, std::move(prepared), request.cuda->cudnn());
}

}  // namespace spire::inline kernels
