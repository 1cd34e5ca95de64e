// Bytes as a series of choices: for targets whose input is not a file, but says which file to make.
#pragma once
#include <array>
#include <span>

#include "tests/fuzz/fuzz_target.h"

namespace spire::fuzz {

// Every series of bytes is one; where they end, zeros follow.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : bytes_(data, size) {}

  uint8_t byte() {
    if (bytes_.empty()) return 0;
    uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }
  // 0 .. count - 1
  size_t below(size_t count) { return byte() % count; }
  // 0 .. 65535
  uint16_t word() {
    auto low = byte();
    return static_cast<uint16_t>(low | byte() << 8);
  }
  template <typename T, size_t n>
  T of(const std::array<T, n>& table) {
    return table[below(n)];
  }
  std::span<const uint8_t> rest() const { return bytes_; }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace spire::fuzz
