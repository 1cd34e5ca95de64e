// Choice of the fastest kernel for attention (ops/attention/attention.h) on a GPU: an engine of
// cuDNN or Spire's own kernel, called native. The emulation (tests/emulation) has native kernels
// only.
//
// All kernels store the same logsumexp, so forward and backward are chosen independently. On tensor
// cores all round p, keep * p and ds to 16 bits before they multiply them; sums are fp32.
#pragma once
#include <functional>

#include "kernels/kernel.h"

namespace spire {

enum class AttentionPass { forward, backward };

struct AttentionShape {
  AttentionPass pass = AttentionPass::forward;
  int64_t batch = 1, length = 1, heads = 1, size = 1;  // N, T, H, D
  DType dtype = DType::f32;                            // of qkv, y and their gradients
  bool causal = false;
  float dropout = 0;
  int64_t kv_heads = 0;    // K; 0: H
  bool documents = false;  // packed documents; only native kernels take them

  bool is_grouped() const { return kv_heads != 0 && kv_heads != heads; }
  int64_t width() const { return heads * size; }  // C
  // kv_width(): columns of k, and of v. packed_width(): columns of q, k and v together.
  int64_t kv_width() const { return is_grouped() ? kv_heads * size : width(); }
  int64_t packed_width() const { return width() + 2 * kv_width(); }
};

// Makes the kernel of a pass. Throws Error(config) if heads are too wide for it.
using MakeKernel = std::function<Kernel()>;

struct NativeAttention {
  const char* name;  // native_name or native_mma_name (cuda/engine_choice.h)
  MakeKernel make;
};

// Makes the kernel for the request's op: of cuDNN's engines and the native kernel the fastest. The
// native one also if cuDNN has no engine for the shape, or if the libraries' options exclude cuDNN.
Kernel choose_attention(const AttentionShape& shape, const NativeAttention& native,
                        const KernelRequest& request);

}  // namespace spire
