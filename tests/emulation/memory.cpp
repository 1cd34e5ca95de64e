#include "memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "machine.h"

namespace spire::emulation {

void* Memory::allocate(const Region& region) {
  refuse_if(!has_room(region), cudaErrorMemoryAllocation);
  void* memory = nullptr;  // exactly so many bytes, for AddressSanitizer
  refuse_if(::posix_memalign(&memory, 256, region.bytes) != 0, cudaErrorMemoryAllocation);
  std::memset(memory, 0xff, region.bytes);  // NaNs: memory is no zeros by luck
  regions_[hidden(memory)] = region;
  (region.side == Side::device ? used_[region.device] : pinned_) += region.bytes;
  return memory;
}

bool Memory::has_room(const Region& region) const {
  if (region.side == Side::device) return region.bytes <= left(region.device);
  return region.bytes <= pinned_limit_ - std::min(pinned_, pinned_limit_);
}

size_t Memory::left(int device) const {
  return limit(device) - std::min(used_[device], limit(device));
}

size_t Memory::bytes() const {
  size_t bytes = 0;
  for (const auto& [start, region] : regions_) bytes += region.bytes;
  return bytes;
}

void Memory::release(void* start, Side side) {
  auto found = regions_.find(hidden(start));
  refuse_if(found == regions_.end() || found->second.side != side, cudaErrorInvalidValue);
  (side == Side::device ? used_[found->second.device] : pinned_) -= found->second.bytes;
  regions_.erase(found);
  std::free(start);
}

void Memory::pin(void* start, size_t bytes) {
  refuse_if(start == nullptr || bytes == 0, cudaErrorInvalidValue);
  refuse_if(find(start, 1).side != Side::pageable, cudaErrorHostMemoryAlreadyRegistered);
  regions_[hidden(start)] = {.side = Side::pinned, .bytes = bytes};
}

void Memory::unpin(void* start) {
  auto found = regions_.find(hidden(start));
  refuse_if(found == regions_.end() || found->second.side != Side::pinned,
            cudaErrorHostMemoryNotRegistered);
  regions_.erase(found);
}

Region Memory::find(const void* address, size_t bytes) const {
  // Inverted, the region that begins at or before an address is the first that is not less.
  auto found = regions_.lower_bound(hidden(address));
  if (found == regions_.end()) return {};
  size_t offset = found->first - hidden(address);
  if (offset >= std::max<size_t>(found->second.bytes, 1)) return {};
  refuse_if(bytes > found->second.bytes - offset, cudaErrorInvalidValue);
  return found->second;
}

}  // namespace spire::emulation
