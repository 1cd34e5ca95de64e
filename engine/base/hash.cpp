#include <spire/base/hash.h>

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace spire {

uint64_t hash64(const void* data, size_t bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

namespace {

XXH3_state_t* xxh3(const std::shared_ptr<void>& state) {
  return static_cast<XXH3_state_t*>(state.get());
}

}  // namespace

HashStream::HashStream()
    : state_(XXH3_createState(),
             [](void* state) { XXH3_freeState(static_cast<XXH3_state_t*>(state)); }) {
  if (!state_) throw std::bad_alloc();
  XXH3_64bits_reset(xxh3(state_));
}

void HashStream::add(const void* data, size_t bytes) {
  if (bytes > 0) XXH3_64bits_update(xxh3(state_), data, bytes);
}

uint64_t HashStream::value() const {
  return XXH3_64bits_digest(xxh3(state_));
}

std::string hex(uint64_t value) {
  return fmt::format("{:016x}", value);
}

}  // namespace spire
