#include "engine/collective/buckets.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/collective/tree.h"

namespace spire::inline collective {
namespace {

constexpr int64_t chunk = TreeSum::chunk;

int64_t whole_chunks(int64_t floats) {
  return std::max<int64_t>(1, (floats + chunk - 1) / chunk);
}

}  // namespace

std::vector<FloatRange> make_buckets(int64_t total, int64_t first, int64_t floats) {
  require(total >= 0, "a gradient buffer of {} floats", total);
  std::vector<FloatRange> buckets;
  int64_t size = whole_chunks(first) * chunk;
  for (int64_t begin = 0; begin < total; begin = buckets.back().end) {
    buckets.push_back({begin, std::min(total, begin + size)});
    size = whole_chunks(floats) * chunk;
  }
  return buckets;
}

FloatRange share_of(FloatRange bucket, int begin, int end, int count) {
  int64_t chunks = (bucket.size() + chunk - 1) / chunk;
  auto cut = [&](int member) {
    return std::min(bucket.end, bucket.begin + chunks * member / count * chunk);
  };
  return {cut(begin), cut(end)};
}

}  // namespace spire::inline collective
