#include "kernels/ops/cached_attention/key_value_cache.h"

#include <numeric>

#include <spire/error.h>

#include "engine/device/memory_pool.h"

namespace spire {

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
