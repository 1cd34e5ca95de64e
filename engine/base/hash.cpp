#include "engine/base/hash.h"

#include <new>

#include <fmt/format.h>
#include <xxhash.h>

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

}  // namespace spire
