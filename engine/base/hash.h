// 64-bit content hash (XXH3, from libxxhash) for checksums and the parameter hash.
// Not cryptographic: it finds torn files and diverged replicas, not forgeries.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace spire {

uint64_t hash64(const void* data, size_t bytes, uint64_t seed = 0);
std::string hex(uint64_t value);  // 16 lower-case digits

}  // namespace spire
