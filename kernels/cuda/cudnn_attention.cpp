#include "kernels/cuda/cudnn_attention.h"

#include <cmath>
#include <limits>

#include "engine/device/device_memory.h"

namespace spire {

CudnnAttention::CudnnAttention(const AttentionShape& shape, const AttentionShare& share,
                               const Cudnn& cudnn)
    : s_(shape),
      share_(share),
      type_(cudnn_dtype(shape.dtype)),
      scale_(1 / std::sqrt(static_cast<float>(shape.size))),
      minus_infinity_(-std::numeric_limits<float>::infinity()) {
  if (s_.pass == AttentionPass::forward)
    add_forward();
  else
    add_backward();
  graph_.finalize(cudnn);
}

// s = q k^T scale, masked; p = e^(s - max) / sum; logsumexp = max + log(sum); y = p v. Operations
// and their order are those of cuDNN's pattern: another way to say the same has no engine.
void CudnnAttention::add_forward() {
  // Scores.
  const CudnnDescriptor& scale = graph_.scalar(scale_id);
  const CudnnDescriptor& products = virtual_scores();
  graph_.matmul(packed(q_id), packed_transposed(k_id), products);
  const CudnnDescriptor& s = masked(apply(CUDNN_POINTWISE_MUL, products, &scale));

  // Softmax by rows, and the product with v.
  const CudnnDescriptor &most = virtual_row_sums(), &sum = virtual_row_sums(),
                        &log = virtual_row_sums();
  graph_.reduce(CUDNN_REDUCE_TENSOR_MAX, s, most);
  const CudnnDescriptor& e = apply(CUDNN_POINTWISE_EXP, apply(CUDNN_POINTWISE_SUB, s, &most));
  graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, e, sum);
  graph_.pointwise(CUDNN_POINTWISE_LOG, sum, nullptr, log);
  graph_.pointwise(CUDNN_POINTWISE_ADD, most, &log, logsumexp());
  const CudnnDescriptor& p = graph_.virtual_tensor(scores(), dense_strides(scores()), type_);
  graph_.pointwise(CUDNN_POINTWISE_DIV, e, &sum, p);
  graph_.matmul(p, packed(v_id), plain(y_id));
}

// p = e^(s - logsumexp), masked; dv = p^T dy; ds = (dy v^T - delta) p scale; dk = ds^T q; dq = ds
// k. dq is a product's result, not an fp32 sum that is cast later: so no engine adds it up by
// atomics, and the order of sums is fixed (attention_rules.h).
void CudnnAttention::add_backward() {
  const CudnnDescriptor &q = packed(q_id), &dy = plain(dy_id), &k = packed_transposed(k_id);
  const CudnnDescriptor& scale = graph_.scalar(scale_id);
  const CudnnDescriptor& delta = add_delta(dy);

  // p again, and dv.
  const CudnnDescriptor& products = virtual_scores();
  graph_.matmul(q, k, products);
  const CudnnDescriptor& s = apply(CUDNN_POINTWISE_MUL, products, &scale);
  const CudnnDescriptor& p =
      apply(CUDNN_POINTWISE_EXP, masked(apply(CUDNN_POINTWISE_SUB, s, &logsumexp())));
  graph_.matmul(transposed_operand(p), dy, packed(dv_id));

  // ds, and dk.
  const CudnnDescriptor& dp = virtual_scores();
  graph_.matmul(dy, packed_transposed(v_id), dp);
  const CudnnDescriptor& change = apply(CUDNN_POINTWISE_SUB, dp, &delta);
  const CudnnDescriptor& ds =
      apply(CUDNN_POINTWISE_MUL, apply(CUDNN_POINTWISE_MUL, change, &p), &scale);
  graph_.matmul(transposed_operand(ds), q, packed(dk_id));

  // dq needs k untransposed: a reshape of the same tensor in memory.
  const CudnnDescriptor& k_rows =
      graph_.virtual_tensor(rows(), strides_in(s_.packed_width()), type_);
  graph_.reshape(k, k_rows);
  graph_.matmul(ds, k_rows, packed(dq_id));
}

// delta = dy . y of each row, in memory. The pattern ends with a factor, here 1.
const CudnnDescriptor& CudnnAttention::add_delta(const CudnnDescriptor& dy) {
  const CudnnDescriptor& terms = graph_.virtual_tensor(rows(), strides_in(s_.width()));
  graph_.pointwise(CUDNN_POINTWISE_MUL, dy, &plain(y_id), terms);
  const CudnnDescriptor& sum = virtual_row_sums();
  graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, terms, sum);
  const CudnnDescriptor& delta =
      graph_.tensor(delta_id, row_sums(), dense_strides(row_sums()), CUDNN_DATA_FLOAT);
  graph_.pointwise(CUDNN_POINTWISE_MUL, sum, &graph_.scalar(one_id), delta);
  return delta;
}

// Causal mask: a query sees keys up to its own position. Axes 2 and 3 are query and key.
const CudnnDescriptor& CudnnAttention::masked(const CudnnDescriptor& x) {
  if (!s_.causal) return x;
  CudnnAxes strides = dense_strides(scores());
  const CudnnDescriptor& query = graph_.virtual_tensor(scores(), strides, CUDNN_DATA_INT32);
  const CudnnDescriptor& key = graph_.virtual_tensor(scores(), strides, CUDNN_DATA_INT32);
  const CudnnDescriptor& sees = graph_.virtual_tensor(scores(), strides, CUDNN_DATA_BOOLEAN);
  graph_.index(x, 2, query);
  graph_.index(x, 3, key);
  graph_.pointwise(CUDNN_POINTWISE_CMP_GE, query, &key, sees);
  const CudnnDescriptor& result = virtual_scores();
  graph_.select(sees, x, graph_.scalar(minus_infinity_id), result);
  return result;
}

const CudnnDescriptor& CudnnAttention::apply(cudnnPointwiseMode_t mode, const CudnnDescriptor& x,
                                             const CudnnDescriptor* b) {
  const CudnnDescriptor& result = virtual_scores();
  graph_.pointwise(mode, x, b, result);
  return result;
}

const CudnnDescriptor& CudnnAttention::transposed_operand(const CudnnDescriptor& x) {
  const CudnnDescriptor& result =
      graph_.virtual_tensor(transposed(scores()), transposed(dense_strides(scores())), type_);
  graph_.reshape(x, result);
  return result;
}

CudnnAxes CudnnAttention::strides_in(int64_t columns) const {
  return {s_.length * columns, s_.size, columns, 1};
}

// Only a whole forward has grouped heads (attention_rules.h).
CudnnAxes CudnnAttention::rows_of(Tensor id) const {
  CudnnAxes axes = rows();
  if (s_.is_grouped() && id != q_id) axes[1] = s_.kv_heads;
  return axes;
}

const CudnnDescriptor& CudnnAttention::packed(Tensor id) {
  return graph_.tensor(id, rows_of(id), strides_in(s_.packed_width()), type_);
}

const CudnnDescriptor& CudnnAttention::packed_transposed(Tensor id) {
  return graph_.tensor(id, transposed(rows_of(id)), transposed(strides_in(s_.packed_width())),
                       type_);
}

const CudnnDescriptor& CudnnAttention::plain(Tensor id) {
  return graph_.tensor(id, rows(), strides_in(s_.width()), type_);
}

const CudnnDescriptor& CudnnAttention::logsumexp() {
  CudnnAxes strides{s_.heads * s_.length, s_.length, 1, 1};  // (N, H, T) of all heads
  return graph_.tensor(logsumexp_id, row_sums(), strides, CUDNN_DATA_FLOAT);
}

const CudnnDescriptor& CudnnAttention::virtual_row_sums() {
  return graph_.virtual_tensor(row_sums(), dense_strides(row_sums()));
}

size_t CudnnAttention::delta_bytes() const {
  if (s_.pass == AttentionPass::forward) return 0;
  auto rows = static_cast<size_t>(share_.batch * share_.heads * s_.length);
  return align_up(rows * sizeof(float), workspace_alignment);
}

int64_t CudnnAttention::shares() const {
  return s_.batch / share_.batch * (s_.heads / share_.heads);
}

CudnnAttention::Tensors CudnnAttention::tensors(const AttentionPointers& whole,
                                                int64_t share) const {
  // Shares run over heads first, then samples.
  int64_t across = s_.heads / share_.heads;
  int64_t sample = share / across * share_.batch, head = share % across * share_.heads;
  auto bytes = static_cast<int64_t>(size_of(s_.dtype));
  Tensors found;
  auto add = [&](Tensor id, const void* begin, int64_t offset) {
    found.ids[found.count] = id;
    found.pointers[found.count++] = static_cast<char*>(const_cast<void*>(begin)) + offset;
  };
  // Rows of a tensor (N, T, columns), from `column` on.
  auto add_rows = [&](Tensor id, void* begin, int64_t columns, int64_t column) {
    add(id, begin, (sample * s_.length * columns + column + head * s_.size) * bytes);
  };
  // q, k and v begin at these columns of qkv; its heads are as wide in all of them.
  const int64_t k = s_.width(), v = k + s_.kv_width();
  auto add_packed = [&](Tensor id, void* begin, int64_t column) {
    add_rows(id, begin, s_.packed_width(), column);
  };
  add_packed(q_id, whole.qkv, 0);
  add_packed(k_id, whole.qkv, k);
  add_packed(v_id, whole.qkv, v);
  add_rows(y_id, whole.y, s_.width(), 0);
  add(logsumexp_id, whole.logsumexp,
      (sample * s_.heads + head) * s_.length * static_cast<int64_t>(sizeof(float)));
  add(scale_id, &scale_, 0);
  if (s_.causal) add(minus_infinity_id, &minus_infinity_, 0);
  if (s_.pass == AttentionPass::forward) return found;
  add_rows(dy_id, whole.dy, s_.width(), 0);
  add_packed(dq_id, whole.dqkv, 0);
  add_packed(dk_id, whole.dqkv, k);
  add_packed(dv_id, whole.dqkv, v);
  add(delta_id, whole.workspace, 0);
  add(one_id, &one_, 0);
  return found;
}

}  // namespace spire
