// Causal attention of a text's new positions over themselves and all earlier positions, whose keys
// and values lie in a cache: for generation token by token. For a row at position p of its sample,
// and for each head with its q (D) and the keys and values of its group of heads:
//   cache[p] = (k, v) of the row
//   s_j = q . k_j / sqrt(D) for the cached positions j = 0..p
//   y = sum_j e^(s_j) v_j / sum_j e^(s_j)
// which is attention (attention.h) of the last rows of a longer text. qkv (N, R, (H + 2 G) D) has H
// heads of q, then G heads of k, then G heads of v; head h of q reads head h / (H / G) of k and v.
// y is (N, R, H D). positions (N, R) i32 may hold any positions in [0, window), but all earlier
// ones of the sample must be in the cache or in the same rows. A row with a position out of range
// is padding: nothing of it is cached, and its y is 0.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include <spire/op.h>

namespace spire {

class DeviceMemory;
class MemoryPool;

// Cache of the keys and values of the text positions read so far: one block of a device's memory,
// which keeps its content from run to run and which several plans share.
class KeyValueCache {
 public:
  KeyValueCache();
  ~KeyValueCache();

  // Called by the kernels of each layer (from 0) when they are made, always with the same size; the
  // first time before allocate().
  void reserve(int layer, size_t bytes);
  size_t bytes() const;
  void allocate(MemoryPool& memory);  // call it before the first run

  template <typename T>
  T* layer(int layer) const {
    return static_cast<T*>(data(layer));
  }

 private:
  void* data(int layer) const;

  std::vector<size_t> sizes_, offsets_;  // of layers, in bytes
  std::unique_ptr<DeviceMemory> memory_;
};

struct CachedAttentionAttributes {
  int64_t heads = 1, kv_heads = 1;  // H and G, which divides H
  int64_t window = 1;               // most positions of a text
  int layer = 0;                    // in the cache: each attention of a model has its own
  KeyValueCache* cache = nullptr;   // outlives the op's kernels; allocated before they run
};

// inputs: qkv, positions. outputs: y. Has no gradient.
class CachedAttentionOp : public OpWith<CachedAttentionAttributes> {
 public:
  using OpWith::OpWith;

  std::string_view name() const override { return "cached_attention"; }
  std::vector<TensorSpec> infer(TensorSpecs inputs) const override;
  // Counts a full window.
  int64_t multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const override;
};

// Throws Error(device): on a GPU attention with a cache takes heads of at most `most` columns.
[[noreturn]] void refuse_cached_heads(int64_t columns, int64_t most);

}  // namespace spire
