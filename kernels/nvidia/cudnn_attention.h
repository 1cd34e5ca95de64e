// A pass of attention as cuDNN's operations: cuDNN sees the whole as one pattern, and its engines
// keep scores, softmax and products of a block on the chip (Dao, "FlashAttention-2", 2023).
#pragma once
#include "kernels/nvidia/cudnn_graph.h"
#include "kernels/ops/attention/attention_rules.h"

namespace spire::inline kernels {

// What a run reads and writes, whole tensors as attention.h has them.
struct AttentionPointers {
  void *qkv = nullptr, *y = nullptr, *logsumexp = nullptr;
  void *dy = nullptr, *dqkv = nullptr;  // of a backward
  void* workspace = nullptr;            // delta_bytes() for delta, then the engine's
};

class CudnnAttention {
 public:
  // Of so many samples and heads as the share has, lying among those of the shape. Throws
  // Error(device) where cuDNN refuses the description itself.
  CudnnAttention(const AttentionShape& shape, const AttentionShare& share, const Cudnn& cudnn);
  CudnnAttention(const CudnnAttention&) = delete;  // runs have pointers to its numbers
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  const CudnnDescriptor& graph() const { return graph_.descriptor(); }
  // Of the rows' dy . y, at the workspace's beginning; a multiple of workspace_alignment.
  size_t delta_bytes() const;
  int64_t shares() const;  // that make up the whole

  // What the graph has in memory, by its unique ids, and where that lies for one of the shares.
  struct Tensors {
    std::array<int64_t, 13> ids = {};
    std::array<void*, 13> pointers = {};
    size_t count = 0;
  };
  Tensors tensors(const AttentionPointers& whole, int64_t share) const;

 private:
  enum Tensor : int64_t {
    q_id = 1,
    k_id,
    v_id,
    y_id,
    logsumexp_id,
    dy_id,
    dq_id,
    dk_id,
    dv_id,
    delta_id,
    scale_id,
    one_id,
    nothing_id
  };

  // Axes of what a share has: of (N, H, T, D), of the scores and of a number a row.
  CudnnAxes rows() const { return {share_.batch, share_.heads, s_.length, s_.size}; }
  CudnnAxes scores() const { return {share_.batch, share_.heads, s_.length, s_.length}; }
  CudnnAxes numbers() const { return {share_.batch, share_.heads, s_.length, 1}; }
  CudnnAxes strides_in(int64_t columns) const;  // of rows() in a tensor (N, T, columns)

  const CudnnDescriptor& packed(Tensor id);  // q, k, v or a gradient of theirs
  const CudnnDescriptor& packed_transposed(Tensor id);
  const CudnnDescriptor& plain(Tensor id);  // y, dy
  const CudnnDescriptor& logsumexp();
  const CudnnDescriptor& inner_scores() { return graph_.inner(scores(), dense_strides(scores())); }
  const CudnnDescriptor& inner_numbers();
  const CudnnDescriptor& in_operands_type(const CudnnDescriptor& scores);  // and transposed
  const CudnnDescriptor& apply(cudnnPointwiseMode_t mode, const CudnnDescriptor& x,
                               const CudnnDescriptor* b = nullptr);  // to scores
  const CudnnDescriptor& masked(const CudnnDescriptor& scores);

  void add_forward();
  void add_backward();
  const CudnnDescriptor& add_delta(const CudnnDescriptor& dy);

  AttentionShape s_;
  AttentionShare share_;
  cudnnDataType_t type_;
  float scale_, one_ = 1, nothing_;
  CudnnGraph graph_;
};

}  // namespace spire::inline kernels
