// About how many different words there are, of any number of them, in little memory.
#pragma once
#include <cstdint>
#include <iterator>
#include <set>
#include <string_view>

#include "engine/base/hash.h"

namespace spire::inline data {

// Keeps the smallest hashes: the largest of them tells how close they lie. Exact below `kept`
// words, else within some percent; the same words in any order give the same number.
class WordSketch {
 public:
  void add(std::string_view word) {
    uint64_t hash = hash64(word.data(), word.size());
    if (hashes_.size() == kept && hash >= *hashes_.rbegin()) return;
    hashes_.insert(hash);
    if (hashes_.size() > kept) hashes_.erase(std::prev(hashes_.end()));
  }
  int64_t different() const {
    if (hashes_.size() < kept) return static_cast<int64_t>(hashes_.size());
    return static_cast<int64_t>((kept - 1) / (static_cast<double>(*hashes_.rbegin()) * 0x1p-64));
  }

 private:
  static constexpr size_t kept = 4096;
  std::set<uint64_t> hashes_;
};

}  // namespace spire::inline data
