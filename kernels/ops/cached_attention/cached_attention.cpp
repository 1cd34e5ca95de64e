
#include "kernels/ops/cached_attention/cached_attention.h"

#include <numeric>

#include "engine/base/fail.h"
#include "engine/device/memory_pool.h"
#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

std::vector<TensorSpec> CachedAttentionOp::infer(TensorSpecs inputs) const {
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
  expect_taken(*this, positions, {{qkv.shape[0], qkv.shape[1]}, DType::i32}, "positions");
  int64_t size = qkv.shape[2] / (heads + 2 * groups);
  return {{{qkv.shape[0], qkv.shape[1], heads * size}, qkv.dtype}};
}

int64_t CachedAttentionOp::multiply_adds(TensorSpecs, TensorSpecs outputs) const {
  return 2 * outputs[0].shape.elements() * attributes_.window;
}

void refuse_cached_heads(int64_t columns, int64_t most) {
  fail(Category::device,
       "[cached_attention] heads of {} columns have no kernel on a GPU; use at most {}", columns,
       most);
}

KeyValueCache::KeyValueCache() = default;
KeyValueCache::~KeyValueCache() = default;

void KeyValueCache::reserve(int layer, size_t bytes) {
  auto index = static_cast<size_t>(layer);
  bytes = align_up(bytes, workspace_alignment);
  if (index >= sizes_.size()) sizes_.resize(index + 1);
  require(sizes_[index] == bytes || (sizes_[index] == 0 && !memory_),
          "layer {} of the cache has another size", layer);
  sizes_[index] = bytes;
}

size_t KeyValueCache::bytes() const {
  return std::accumulate(sizes_.begin(), sizes_.end(), size_t{0});
}

void* KeyValueCache::data(int layer) const {
  return memory_->as<std::byte>() + offsets_[static_cast<size_t>(layer)];
}

void KeyValueCache::allocate(MemoryPool& memory) {
  offsets_.resize(sizes_.size());
  std::exclusive_scan(sizes_.begin(), sizes_.end(), offsets_.begin(), size_t{0});
  memory_ = memory.allocate(MemoryKind::activations, bytes());
}

}  // namespace spire
