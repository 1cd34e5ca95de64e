// 64-bit content hash (XXH3, from libxxhash) for checksums and the parameter hash.
// Not cryptographic: it finds torn files and diverged replicas, not forgeries.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace spire {

uint64_t hash64(const void* data, size_t bytes, uint64_t seed = 0);

// hash64 with seed 0 of bytes that come in pieces.
class HashStream {
 public:
  HashStream();
  HashStream(const HashStream&) = delete;
  HashStream& operator=(const HashStream&) = delete;
  void add(const void* data, size_t bytes);
  uint64_t value() const;  // of all that was added

 private:
  std::shared_ptr<void> state_;  // of XXH3
};

std::string hex(uint64_t value);  // 16 lower-case digits

}  // namespace spire
