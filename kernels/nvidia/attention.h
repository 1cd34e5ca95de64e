// Attention (ops/attention/attention.h) on a GPU by the fastest kernel that computes it: an engine
// of cuDNN or a native kernel of Spire. Implemented in attention.cpp; the emulation has native
// kernels only.
//
// All compute the same formulas on the same packed tensors, with scores and sums in fp32. On tensor
// cores all round p, keep p and ds to 16 bits before they multiply them. Since all mean the same by
// logsumexp, log(sum(e^score)) of scaled scores, forward and backward are chosen independently.
#pragma once
#include <functional>
#include <memory>

#include "kernels/kernel.h"

namespace spire::inline kernels {

enum class AttentionPass { forward, backward };

struct AttentionShape {
  AttentionPass pass = AttentionPass::forward;
  int64_t batch = 1, length = 1, heads = 1, size = 1;  // N, T, H, D
  DType dtype = DType::f32;                            // of qkv, y and their gradients
  bool causal = false;
  float dropout = 0;

  int64_t width() const { return heads * size; }  // C
};

// Makes the kernel of a pass. Throws Error(config) if heads are too wide for it.
using MakeKernel = std::function<std::unique_ptr<Kernel>()>;

// Spire's own kernel of a pass.
struct NativeAttention {
  const char* name;  // of the engine in a choice: other bits, another name
  MakeKernel make;
};

// Makes the kernel for the request's op: the native one if nothing else computes the shape, if it
// is the fastest, or if the libraries' options ask for it.
std::unique_ptr<Kernel> choose_attention(const AttentionShape& shape, const NativeAttention& native,
                                         const KernelRequest& request);

}  // namespace spire::inline kernels
