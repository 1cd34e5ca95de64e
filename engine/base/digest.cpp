#include "engine/base/digest.h"

#include <array>

#include <sodium.h>

#include <spire/error.h>

namespace spire {

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
