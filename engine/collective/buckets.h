// Cuts a flat gradient buffer into buckets, which are reduced one after another during backward,
// and a bucket into shares of its reducers. All cuts lie on multiples of TreeSum::chunk, so results
// that are computed by chunk do not depend on them.
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

// The intersection; its size is 0 or less where there is none.
inline FloatRange common(FloatRange a, FloatRange b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// Buckets of `floats` elements in order; the first has `first`, so that reduction starts early.
std::vector<FloatRange> make_buckets(int64_t total, int64_t first, int64_t floats);

// The part of members [begin, end) of `count`, in whole chunks. Parts of single members differ by
// at most one chunk.
FloatRange share_of(FloatRange bucket, int begin, int end, int count);

}  // namespace spire::inline collective
