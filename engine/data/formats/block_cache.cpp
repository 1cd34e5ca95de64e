#include "engine/data/formats/block_cache.h"

#include <algorithm>
#include <new>

#include <spire/error.h>

namespace spire::inline data {

BlockCache::BlockCache(int64_t slots, size_t slot_bytes)
    : slot_bytes_(slot_bytes),
      blocks_(static_cast<size_t>(slots), -1),
      used_(static_cast<size_t>(slots), 0) {
  require(slots >= 1 && slots <= max_slots, "BlockCache: {} slots", slots);
  auto count = static_cast<size_t>(slots);
  try {
    memory_.reset(new std::byte[count * slot_bytes]);  // not set to anything: no page is touched
  } catch (const std::bad_alloc&) {
    fail(Category::config, "cannot allocate {} blocks of {} bytes; lower data.hdf5.cache_mib",
         slots, slot_bytes);
  }
}

BlockCache::Found BlockCache::get(int64_t block) {
  auto found = std::ranges::find(blocks_, block);
  bool fresh = found == blocks_.end();
  if (fresh) found = blocks_.begin() + (std::ranges::min_element(used_) - used_.begin());
  auto slot = static_cast<size_t>(found - blocks_.begin());
  blocks_[slot] = block;
  used_[slot] = ++clock_;
  fills_ += fresh ? 1 : 0;
  return {memory_.get() + slot * slot_bytes_, fresh};
}

void BlockCache::forget(int64_t block) {
  auto found = std::ranges::find(blocks_, block);
  if (found == blocks_.end()) return;
  *found = -1;
  used_[static_cast<size_t>(found - blocks_.begin())] = 0;
}

}  // namespace spire::inline data
