// Cryptographic digests: 32-byte BLAKE2b (RFC 7693) from libsodium. Nobody can make a second text
// with a given digest. hash.h is faster, but can be forged.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

namespace spire {

inline constexpr size_t digest_digits = 64;

void need_sodium();  // call it before any use of libsodium; throws Error(device)

// Returns the digest of the parts joined, so {"ab", "c"} and {"a", "bc"} have the same, as 64
// lower-case hex digits. Throws as need_sodium().
std::string digest(std::initializer_list<std::string_view> parts);

}  // namespace spire
