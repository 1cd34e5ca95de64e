// 64-bit content hashes (XXH3, from libxxhash) for checksums and the parameter hash. They
// reveal torn files and replicas that differ, but no deliberate forgery.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace spire {

uint64_t hash64(const void* data, size_t bytes, uint64_t seed = 0);

// Computes hash64 (seed 0) of data that is added in parts.
class Hash64 {
 public:
  Hash64();
  ~Hash64();
  Hash64(const Hash64&) = delete;
  Hash64& operator=(const Hash64&) = delete;

  void add(const void* data, size_t bytes);
  uint64_t value() const;  // of all bytes added so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hex(uint64_t value);  // 16 lower-case digits

}  // namespace spire
