// A pass of attention with the engine of cuDNN that was chosen for it.
#pragma once
#include "kernels/nvidia/cudnn_attention.h"
#include "kernels/nvidia/cudnn_plan.h"

namespace spire::inline kernels {

// As a device runs it; kernels of the same shape share one.
struct PreparedAttention {
  PreparedAttention(const AttentionShape& shape, const AttentionShare& share, const Cudnn& cudnn)
      : attention(shape, share, cudnn) {}

  size_t workspace_bytes(const CudnnPlan& by) const {
    return attention.delta_bytes() + by.workspace_bytes();
  }
  // Share after share. Each caller with packs of its own, one a share.
  void run(const CudnnPlan& by, std::span<CudnnPack> packs, const AttentionPointers& whole,
           void* stream) const;

  CudnnAttention attention;
  std::optional<CudnnPlan> plan;
};

// That of the device's libraries, made when it is first asked for; null where it is the own
// kernel's. REQUIRES: the device is the thread's current one.
std::shared_ptr<const PreparedAttention> prepare_attention(const AttentionShape& shape,
                                                           const NativeAttention& own,
                                                           const KernelRequest& request);

// What a kernel of the pass was handed.
AttentionPointers attention_pointers(AttentionPass pass, const KernelArgs& args);

}  // namespace spire::inline kernels
