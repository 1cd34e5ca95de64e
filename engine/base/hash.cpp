#include "engine/base/hash.h"

#include <array>
#include <new>

#include <fmt/format.h>
#include <sodium.h>
#include <xxhash.h>

#include "engine/base/fail.h"

namespace spire {

uint64_t hash64(const void* data, size_t bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

// Owns libxxhash's state on the heap: it must be aligned to 64 bytes, and its type stays out of the
// header.
struct Hash64::State {
  State() : state(XXH3_createState()) {
    if (state == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(state);
  }
  ~State() { XXH3_freeState(state); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  XXH3_state_t* state;
};

Hash64::Hash64() : state_(std::make_unique<State>()) {}

Hash64::~Hash64() = default;

void Hash64::add(const void* data, size_t bytes) {
  XXH3_64bits_update(state_->state, data, bytes);
}

uint64_t Hash64::value() const {
  return XXH3_64bits_digest(state_->state);
}

std::string hex(uint64_t value) {
  return fmt::format("{:016x}", value);
}

void need_sodium() {
  static const bool ready = sodium_init() >= 0;
  if (!ready) fail(Category::device, "the system gives no random numbers (libsodium)");
}

std::string digest(std::initializer_list<std::string_view> parts) {
  need_sodium();
  constexpr size_t bytes = digest_digits / 2;
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, bytes);
  for (std::string_view part : parts)
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()),
                              part.size());
  std::array<unsigned char, bytes> raw{};
  crypto_generichash_final(&state, raw.data(), raw.size());
  std::array<char, digest_digits + 1> text{};
  sodium_bin2hex(text.data(), text.size(), raw.data(), raw.size());
  return {text.data(), digest_digits};
}

}  // namespace spire
