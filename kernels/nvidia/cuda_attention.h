// Attention (attention.h) on a GPU by the fastest of what can compute it: cuDNN's engines and
// Spire's own kernels, one choice made as for convolutions (tuning.h). In cuda_attention_cudnn.cpp;
// tests/emulation has the own kernels alone.
//
// All compute the same formulas from and to the same packed tensors, scores and sums in fp32. On
// tensor cores, cuDNN's and the own (attention_mma_cuda.h) alike, p, keep p and ds are rounded to
// the 16 bits of an operand before they are multiplied. All mean the same by logsumexp, the natural
// logarithm of the sum of e^score with the scores scaled: so forward and backward are chosen each
// for itself.
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

// Makes the pass's kernel; throws Error(config) for heads that are too wide.
using MakeKernel = std::function<std::unique_ptr<Kernel>()>;

// Spire's own kernel of a pass.
struct NativeAttention {
  const char* name;  // as the engine that was chosen: other bits, another name
  MakeKernel make;
};

// For the request's op. An own kernel is what nothing else computes, or is slower, or what the
// libraries' options ask for.
std::unique_ptr<Kernel> choose_attention(const AttentionShape& shape, const NativeAttention& own,
                                         const KernelRequest& request);

}  // namespace spire::inline kernels
