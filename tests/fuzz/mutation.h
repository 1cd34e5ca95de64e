// Mutations of good files for the replay tests, the same in every build.
#pragma once
#include <algorithm>
#include <random>

#include "tests/fuzz/fuzz_target.h"

namespace spire::fuzz {

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // One to four changes: bits flipped, bytes at the edges of their range, bytes inserted or taken
  // out, a part repeated, the end cut off.
  Bytes mutate(Bytes bytes) {
    for (size_t change = 1 + below(4); change > 0; --change) change_once(bytes);
    return bytes;
  }

 private:
  using Offset = Bytes::difference_type;

  // 0 .. bound - 1, and 0 for no bound. mt19937_64's numbers are the standard's own.
  size_t below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  Bytes::iterator somewhere(Bytes& bytes) {
    return bytes.begin() + static_cast<Offset>(below(bytes.size() + 1));
  }
  // A part of 1 to 16 bytes, less at the end.
  Bytes::iterator part_end(Bytes& bytes, Bytes::iterator begin) {
    return begin + std::min<Offset>(bytes.end() - begin, static_cast<Offset>(1 + below(16)));
  }

  void change_once(Bytes& bytes) {
    auto at = somewhere(bytes);
    switch (below(6)) {
      case 0:
        if (at != bytes.end()) *at = static_cast<uint8_t>(*at ^ 1u << below(8));
        return;
      case 1:
        return set_edge(bytes, at);
      case 2:
        bytes.insert(at, 1 + below(16), static_cast<uint8_t>(below(256)));
        return;
      case 3:
        bytes.erase(at, part_end(bytes, at));
        return;
      case 4: {
        Bytes part(at, part_end(bytes, at));
        bytes.insert(somewhere(bytes), part.begin(), part.end());
        return;
      }
      default:
        bytes.erase(at, bytes.end());
    }
  }

  // 1, 2, 4 or 8 bytes all zero or all ones, the first or the last of them possibly 0x7f or 0x80.
  void set_edge(Bytes& bytes, Bytes::iterator at) {
    auto count = std::min<Offset>(bytes.end() - at, Offset{1} << below(4));
    if (count == 0) return;
    std::fill_n(at, count, static_cast<uint8_t>(below(2) == 0 ? 0x00 : 0xff));
    if (below(2) == 0) at[below(2) == 0 ? 0 : count - 1] ^= 0x80;
  }

  std::mt19937_64 random_;
};

}  // namespace spire::fuzz
