// Shapes, gradient and work of attention. Kernels have scores in blocks of 64 x 64 only, with an
// online softmax over the blocks (Dao, "FlashAttention-2", 2023); the backward computes them again
// from qkv and logsumexp, so neither scores nor probabilities are ever in memory as a whole.
#include "kernels/ops/attention/attention.h"

#include "kernels/expect.h"
#include "kernels/ops/dropout/dropout.h"
#include "kernels/spec_checks.h"

namespace spire {

PackedHeads packed_heads(const AttentionAttributes& attributes, const Shape& qkv) {
  int64_t kv_heads = attributes.kv_heads == 0 ? attributes.heads : attributes.kv_heads;
  return {attributes.heads, kv_heads, qkv[2] / (attributes.heads + 2 * kv_heads)};
}

namespace {

void expect_packed(const Op& op, const TensorSpec& qkv, const AttentionAttributes& attributes) {
  const auto& [heads, causal, dropout, kv_heads, documents] = attributes;
  expect(op, qkv.shape.rank() == 3 && qkv.shape.elements() > 0 && is_float_type(qkv.dtype),
         "takes packed q, k, v (N, T, C + 2 K D) of fp32, bf16 or fp16, got {}", to_string(qkv));
  expect(op, kv_heads >= 0 && (kv_heads == 0 || heads % kv_heads == 0),
         "{} heads of keys and values do not divide {} heads", kv_heads, heads);
  expect(op, heads > 0 && qkv.shape[2] == packed_heads(attributes, qkv.shape).columns(),
         "{} heads do not divide the columns of q, k and v in {}", heads, to_string(qkv));
  expect(op, dropout >= 0 && dropout < 1, "dropout {} is outside [0, 1)", dropout);
  expect(op, causal || !documents, "documents need a causal mask");
}

void expect_positions(const Op& op, const TensorSpec& qkv, const TensorSpec& given) {
  TensorSpec positions{{qkv.shape[0], qkv.shape[1]}, DType::i32};
  expect_taken(op, given, positions, "positions");
}

TensorSpec output_of(const TensorSpec& qkv, const AttentionAttributes& attributes) {
  int64_t width = packed_heads(attributes, qkv.shape).width();
  return {{qkv.shape[0], qkv.shape[1], width}, qkv.dtype};
}

TensorSpec logsumexp_of(const TensorSpec& qkv, int64_t heads) {
  return {{qkv.shape[0], heads, qkv.shape[1]}, DType::f32};
}

}  // namespace

std::vector<TensorSpec> AttentionOp::infer(TensorSpecs inputs) const {
  size_t count = attributes_.documents ? 2 : 1;
  expect_inputs(*this, inputs, count, count);
  expect_packed(*this, inputs[0], attributes_);
  if (attributes_.documents) expect_positions(*this, inputs[0], inputs[1]);
  std::vector<TensorSpec> outputs = {output_of(inputs[0], attributes_),
                                     logsumexp_of(inputs[0], attributes_.heads)};
  if (attributes_.dropout > 0) outputs.push_back(dropout_key_spec());
  return outputs;
}

// Two products of T x T scores and D columns a head: q k^T and p v.
int64_t AttentionOp::multiply_adds(TensorSpecs, TensorSpecs outputs) const {
  const TensorSpec& y = outputs[0];
  return 2 * y.shape.elements() * y.shape[1];
}

void AttentionOp::gradient(GradientBuilder& builder) const {
  std::vector<Value> inputs = {builder.output_gradient(0), builder.input(0), builder.output(0),
                               builder.output(1)};
  if (attributes_.dropout > 0) inputs.push_back(builder.output(2));
  if (attributes_.documents) inputs.push_back(builder.input(1));
  emit_gradient<AttentionBackwardOp>(builder, 0, inputs, attributes_);
}

// Five products of that size where forward has two: the scores once more, dv, dp, dq and dk.
int64_t AttentionBackwardOp::multiply_adds(TensorSpecs inputs, TensorSpecs) const {
  const TensorSpec& y = inputs[2];
  return 5 * y.shape.elements() * y.shape[1];
}

std::vector<TensorSpec> AttentionBackwardOp::infer(TensorSpecs inputs) const {
  bool drops = attributes_.dropout > 0;
  size_t count = 4 + (drops ? 1 : 0) + (attributes_.documents ? 1 : 0);
  expect_inputs(*this, inputs, count, count);
  const TensorSpec& qkv = inputs[1];
  expect_packed(*this, qkv, attributes_);
  for (size_t i : {0, 2}) expect_taken(*this, inputs[i], output_of(qkv, attributes_), "dy and y");
  expect_taken(*this, inputs[3], logsumexp_of(qkv, attributes_.heads), "logsumexp");
  if (drops) expect(*this, inputs[4] == dropout_key_spec(), "the key is {}", to_string(inputs[4]));
  if (attributes_.documents) expect_positions(*this, qkv, inputs.back());
  return {qkv};
}

void refuse_heads(const Op& op, int64_t columns, int64_t most) {
  fail(Category::config, "[{}] heads of {} columns: on a GPU they have at most {}", op.name(),
       columns, most);
}

void refuse_length(const Op& op, const Shape& qkv) {
  fail(Category::config, "[{}] {} is too long for a GPU", op.name(), to_string(qkv));
}

}  // namespace spire
