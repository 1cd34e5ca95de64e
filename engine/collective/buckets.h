// How a flat gradient buffer is cut: into buckets, which are reduced one after another while
// backward goes on, and each bucket into shares of those who reduce it. All cuts lie on multiples
// of TreeSum::chunk, so that what is computed chunk by chunk does not depend on them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace spire::inline collective {

struct FloatRange {
  int64_t begin = 0, end = 0;  // in floats
  int64_t size() const { return end - begin; }
  bool operator==(const FloatRange&) const = default;
};

// What is in both; of size 0 or less where nothing is.
inline FloatRange common(FloatRange a, FloatRange b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// Buckets of `floats` in order; the first one is of `first`, so that the reduction starts early.
std::vector<FloatRange> make_buckets(int64_t total, int64_t first, int64_t floats);

// The part of members [begin, end) out of `count`, in whole chunks; sizes of single members differ
// by at most one chunk.
FloatRange share_of(FloatRange bucket, int begin, int end, int count);

}  // namespace spire::inline collective
