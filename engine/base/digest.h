// Cryptographic digests (BLAKE2b of 32 bytes, RFC 7693, from libsodium): nobody can make another
// text with the same one. For speed rather than forgery see hash.h.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

namespace spire {

inline constexpr size_t digest_digits = 64;

void need_sodium();  // call it before any use of libsodium; throws Error(device)

// Returns the digest of the parts, one after another, as 64 lower-case hex digits. Throws as
// need_sodium().
std::string digest(std::initializer_list<std::string_view> parts);

}  // namespace spire
