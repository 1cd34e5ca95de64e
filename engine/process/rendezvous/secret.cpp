#include "engine/process/rendezvous/secret.h"

#include <sodium.h>

#include <spire/error.h>

#include "engine/base/read_file.h"

namespace spire::inline process {
namespace {

constexpr size_t kLeastCharacters = 16;
constexpr size_t kMostBytes = 4096;

void need_sodium() {
  static const bool ready = sodium_init() >= 0;
  if (!ready) fail(Category::device, "the system gives no random numbers (libsodium)");
}

std::string checked(std::string secret, const std::string& source) {
  secret.erase(secret.find_last_not_of(" \t\r\n") + 1);
  if (secret.size() < kLeastCharacters) {
    fail(Category::config,
         "{} has {} characters, and needs {} or more that nobody can guess: make one with `openssl "
         "rand -hex 32`",
         source, secret.size(), kLeastCharacters);
  }
  return secret;
}

std::string read_secret_file(const std::string& path) try {
  return read_stream(path, Category::config, kMostBytes);
} catch (const Error& error) {
  if (error.category() != Category::config) throw;
  fail(Category::config, "SPIRE_SECRET_FILE: {}", error.what());
}

}  // namespace

std::string random_secret() {
  need_sodium();
  Nonce bytes = random_nonce();
  std::string digits(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(digits.data(), digits.size(), bytes.data(), bytes.size());
  digits.pop_back();  // the end of a C string
  return digits;
}

std::optional<std::string> read_secret(const Environment& environment) {
  if (auto text = environment("SPIRE_SECRET")) return checked(*text, "SPIRE_SECRET");
  auto path = environment("SPIRE_SECRET_FILE");
  if (!path) return {};
  return checked(read_secret_file(*path), fmt::format("the file of SPIRE_SECRET_FILE={}", *path));
}

Proof prove(const std::string& secret, std::string_view text) {
  static_assert(sizeof(Proof) == crypto_auth_hmacsha256_BYTES);
  need_sodium();
  crypto_auth_hmacsha256_state state;
  auto bytes = [](std::string_view from) {
    return reinterpret_cast<const unsigned char*>(from.data());
  };
  Proof proof;
  crypto_auth_hmacsha256_init(&state, bytes(secret), secret.size());
  crypto_auth_hmacsha256_update(&state, bytes(text), text.size());
  crypto_auth_hmacsha256_final(&state, proof.data());
  sodium_memzero(&state, sizeof state);
  return proof;
}

bool equal(const Proof& proof, std::string_view bytes) {
  return bytes.size() == proof.size() &&
         sodium_memcmp(proof.data(), bytes.data(), proof.size()) == 0;
}

Nonce random_nonce() {
  need_sodium();
  Nonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

}  // namespace spire::inline process
