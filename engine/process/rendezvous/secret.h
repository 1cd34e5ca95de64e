// What the processes of a run know and nobody else does, and proofs of knowing it.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <spire/launch.h>

namespace spire::inline process {

// A text that cannot be guessed: 64 hexadecimal digits from the system's random numbers.
std::string random_secret();

// SPIRE_SECRET, or else what the file SPIRE_SECRET_FILE holds, without white space at its end;
// nothing when neither is set. Throws Error(config) for one of fewer than 16 characters, and for a
// file that cannot be read. No message shows a secret.
std::optional<std::string> read_secret(const Environment& environment);

using Proof = std::array<unsigned char, 32>;

// HMAC-SHA256 (RFC 2104) of `text`, keyed by the secret, which may be of any length.
Proof prove(const std::string& secret, std::string_view text);
// Takes as long for any two, so that time tells nothing of what is right.
bool equal(const Proof& proof, std::string_view bytes);

using Nonce = std::array<unsigned char, 32>;
Nonce random_nonce();

}  // namespace spire::inline process
