#include "kernels/ops/cached_attention/cached_attention.h"

#include <spire/op_checks.h>

namespace spire {

std::vector<TensorSpec> CachedAttentionOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  const TensorSpec &qkv = inputs[0], &positions = inputs[1];
  int64_t heads = attributes_.heads, groups = attributes_.kv_heads;
  expect(*this, heads > 0 && groups > 0 && heads % groups == 0 && attributes_.window > 0,
         "takes heads of q that those of k and v divide, got {} and {}", heads, groups);
  expect(*this, qkv.shape.rank() == 3 && qkv.shape.elements() > 0 && is_float_type(qkv.dtype),
         "takes packed q, k, v (N, R, C), got {}", to_string(qkv));
  expect(*this, qkv.shape[2] % (heads + 2 * groups) == 0,
         "{} heads of q and {} of k and v do not divide the columns of {}", heads, groups,
         to_string(qkv));
  TensorSpec place{{qkv.shape[0], qkv.shape[1]}, DType::i32};
  expect(*this, positions == place, "takes positions {}, got {}", to_string(place),
         to_string(positions));
  int64_t size = qkv.shape[2] / (heads + 2 * groups);
  return {{{qkv.shape[0], qkv.shape[1], heads * size}, qkv.dtype}};
}

int64_t CachedAttentionOp::multiply_adds(std::span<const TensorSpec>,
                                         std::span<const TensorSpec> outputs) const {
  return 2 * outputs[0].shape.elements() * attributes_.window;
}

void refuse_cached_heads(int64_t columns, int64_t most) {
  fail(Category::device,
       "[cached_attention] heads of {} columns have no kernel on a GPU; use at most {}", columns,
       most);
}

}  // namespace spire
