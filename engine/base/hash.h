// 64-bit content hashes (XXH3, from libxxhash) for checksums and the parameter hash: they reveal
// torn files and replicas that differ, but no deliberate forgery. Cryptographic digests: 32-byte
// BLAKE2b (RFC 7693) from libsodium; nobody can make a second text with a given digest.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

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

inline constexpr size_t digest_digits = 64;

void need_sodium();  // call it before any use of libsodium; throws Error(device)

// Returns the digest of the concatenated parts as 64 lower-case hex digits: {"ab", "c"} and
// {"a", "bc"} give the same digest. Throws as need_sodium().
std::string digest(std::initializer_list<std::string_view> parts);

}  // namespace spire
