// Scaled dot-product attention of H heads (Vaswani et al., "Attention Is All You Need", 2017). For
// each sample and head, with q, k, v (T, D) the head's columns of the packed input, D = C / H:
//   s_ij = q_i . k_j / sqrt(D)
//   l_i = log sum_j e^(s_ij)
//   p_ij = e^(s_ij - l_i)
//   y_i = sum_j keep_ij p_ij v_j
// If causal, j runs only up to i; with packed documents it starts at i - positions_i, the first
// token of i's document. Scores of all other j count as minus infinity, so that p_ij is 0. The
// gradient, with delta_i = dy_i . y_i:
//   ds_ij = p_ij (keep_ij dy_i . v_j - delta_i)
//   dq_i = sum_j ds_ij k_j / sqrt(D)
//   dk_j = sum_i ds_ij q_i / sqrt(D)
//   dv_j = sum_i keep_ij p_ij dy_i
// With fewer heads K of keys and values (Ainslie et al., "GQA: Training Generalized Multi-Query
// Transformer Models", 2023) each head of keys and values serves H / K adjacent heads of queries,
// and dk and dv are sums over those heads. qkv (N, T, C + 2 K D) has the columns of q, then of k,
// then of v, each with one head after another; y (N, T, C) has qkv's dtype; l, called logsumexp, is
// (N, H, T) fp32. keep_ij is 0 with probability `dropout`, else 1 / (1 - dropout), decided for head
// h by bits((h T + i) P + j) of the sample's dropout_stream (dropout.h), where P is T rounded up to
// a multiple of 64. The computation is in fp32, except that a GPU multiplies 16-bit dtypes on
// tensor cores (cuda/attention.h).
#pragma once
#include <spire/op.h>

namespace spire {

struct AttentionAttributes {
  int64_t heads = 1;  // divides C
  bool causal = false;
  float dropout = 0;       // in [0, 1)
  int64_t kv_heads = 0;    // of keys and values, divides heads; 0: as many as heads
  bool documents = false;  // packed documents, whose positions are a further input; needs causal
};

// Columns of the packed input: `heads` heads of q, then kv_heads of k, then kv_heads of v.
struct PackedHeads {
  int64_t heads, kv_heads, size;  // H, K, D

  int64_t width() const { return heads * size; }        // C, the columns of q and of y
  int64_t kv_width() const { return kv_heads * size; }  // of k, and of v
  int64_t columns() const { return width() + 2 * kv_width(); }
  int64_t group() const { return heads / kv_heads; }  // heads that share a head of k and v
};
// Returns the first key that query `query` sees; positions: of its row, null without documents. A
// position that lies outside [0, query] is clamped to that range.
SPIRE_HOST_DEVICE inline int64_t first_key(const int32_t* positions, int64_t query) {
  if (!positions) return 0;
  int64_t first = query - positions[query];
  return first < 0 ? 0 : first > query ? query : first;
}

// REQUIRES: a shape that AttentionOp takes.
PackedHeads packed_heads(const AttentionAttributes& attributes, const Shape& qkv);

// inputs: qkv [, documents: positions (N, T) i32: 0 for the first token of a document and of a row,
// and then one more with each token]. outputs: y, logsumexp [, with dropout: key (1) i32, like
// DropoutOp's].
class AttentionOp : public OpWith<AttentionAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "attention"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  // Counts all T x T scores even if causal, as publications do.
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;
  void gradient(GradientBuilder& builder) const override;
};

// inputs: dy, qkv, y, logsumexp [, key] [, positions]. outputs: dqkv.
class AttentionBackwardOp : public OpWith<AttentionAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "attention_backward"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;
};

// Throw Error(config): refuse_heads() as a GPU's attention takes heads of at most `most` columns,
// refuse_length() as the sequence is too long for it. (.cu files do not include fmt.)
[[noreturn]] void refuse_heads(const Op& op, int64_t columns, int64_t most);
[[noreturn]] void refuse_length(const Op& op, const Shape& qkv);

}  // namespace spire
