#include <spire/base/hash.h>

#include <fmt/format.h>
#include <xxhash.h>

namespace spire {

uint64_t hash64(const void* data, size_t bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

std::string hex(uint64_t value) {
  return fmt::format("{:016x}", value);
}

}  // namespace spire
