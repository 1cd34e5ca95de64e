// A pass of attention as a cuDNN graph. cuDNN matches the whole graph as one pattern; its engines
// keep the scores of a block of rows on the chip (Dao, "FlashAttention-2", 2023).
#pragma once
#include "kernels/cuda/cudnn_graph.h"
#include "kernels/ops/attention/attention_rules.h"

namespace spire {

// Device pointers to the whole tensors of a run, as ops/attention/attention.h describes them.
struct AttentionPointers {
  void *qkv = nullptr, *y = nullptr, *logsumexp = nullptr;
  void *dy = nullptr, *dqkv = nullptr;  // backward only
  void* workspace = nullptr;            // delta (delta_bytes()), then the engine's workspace
};

class CudnnAttention {
 public:
  // Describes a run over one share (some samples and heads): its operands are views into tensors
  // with all samples and heads of `shape`. Throws Error(device) if cuDNN refuses the graph.
  CudnnAttention(const AttentionShape& shape, const AttentionShare& share, const Cudnn& cudnn);
  CudnnAttention(const CudnnAttention&) = delete;  // runs read its scalars by address
  CudnnAttention& operator=(const CudnnAttention&) = delete;

  const CudnnDescriptor& graph() const { return graph_.descriptor(); }
  // Returns the bytes of delta_i = dy_i . y_i, at the beginning of the workspace; 0 for a forward
  // pass.
  size_t delta_bytes() const;
  int64_t shares() const;  // number of runs that compute the whole pass

  // Unique ids of the graph's tensors in memory, and their addresses for one share.
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
    minus_infinity_id
  };

  // Extents of a share's tensors: rows (N, H, T, D), scores (N, H, T, T), row sums (N, H, T, 1).
  CudnnAxes rows() const { return {share_.batch, share_.heads, s_.length, s_.size}; }
  CudnnAxes rows_of(Tensor id) const;  // of k and v fewer heads, if heads share them
  CudnnAxes scores() const { return {share_.batch, share_.heads, s_.length, s_.length}; }
  CudnnAxes row_sums() const { return {share_.batch, share_.heads, s_.length, 1}; }
  CudnnAxes strides_in(int64_t columns) const;  // strides of rows() in a tensor (N, T, columns)

  const CudnnDescriptor& packed(Tensor id);  // q, k, v or their gradients, in qkv or dqkv
  const CudnnDescriptor& packed_transposed(Tensor id);
  const CudnnDescriptor& plain(Tensor id);  // y, dy
  const CudnnDescriptor& logsumexp();
  const CudnnDescriptor& virtual_scores() {
    return graph_.virtual_tensor(scores(), dense_strides(scores()));
  }
  const CudnnDescriptor& virtual_row_sums();
  // Adds operations that round scores to the operands' dtype and transpose them.
  const CudnnDescriptor& transposed_operand(const CudnnDescriptor& scores);
  // Adds a pointwise operation on scores.
  const CudnnDescriptor& apply(cudnnPointwiseMode_t mode, const CudnnDescriptor& x,
                               const CudnnDescriptor* b = nullptr);
  const CudnnDescriptor& masked(const CudnnDescriptor& scores);

  void add_forward();
  void add_backward();
  const CudnnDescriptor& add_delta(const CudnnDescriptor& dy);

  AttentionShape s_;
  AttentionShare share_;
  cudnnDataType_t type_;
  float scale_, one_ = 1, minus_infinity_;
  CudnnGraph graph_;
};

}  // namespace spire
