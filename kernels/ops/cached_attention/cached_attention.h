// Causal attention of new positions of a text over those before them, whose keys and values lie in
// a cache, for generation token by token. For a row at position p of its sample, and for each head
// with its q (D) and the keys and values of its group of heads:
//   cache[p] = (k, v) of the row
//   s_j = q . k_j / sqrt(D) for the cached positions j = 0..p
//   y = sum_j e^(s_j) v_j / sum_j e^(s_j)
// which is attention (attention.h) of the last rows of a longer text. qkv (N, R, (H + 2 G) D) has H
// heads of q, then G heads of k, then G heads of v; head h reads those of h / (H / G). y is (N, R,
// H D). positions (N, R) i32 may hold any positions in [0, window), but all earlier ones of the
// sample must be in the cache or in the same rows. A row with a position out of range is padding:
// nothing of it is cached, and its y is 0.
#pragma once
#include <spire/op.h>

namespace spire {

class KeyValueCache;

struct CachedAttentionAttributes {
  int64_t heads = 1, kv_heads = 1;  // H and G, which divides H
  int64_t window = 1;               // most positions of a text
  int layer = 0;                    // of the cache: each attention of a model has its own
  KeyValueCache* cache = nullptr;   // outlives the op's kernels; allocated before they run
};

// inputs: qkv, positions. outputs: y. Has no gradient.
class CachedAttentionOp : public OpWith<CachedAttentionAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "cached_attention"; }
  std::vector<TensorSpec> infer(std::span<const TensorSpec> inputs) const override;
  // Counts a full window.
  int64_t multiply_adds(std::span<const TensorSpec> inputs,
                        std::span<const TensorSpec> outputs) const override;
};

// Throws Error(device): on a GPU attention with a cache takes heads of at most `most` columns.
[[noreturn]] void refuse_cached_heads(int64_t columns, int64_t most);

}  // namespace spire
