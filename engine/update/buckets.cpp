#include "engine/update/buckets.h"

#include <algorithm>

#include <spire/error.h>

namespace spire {

std::vector<FloatRange> make_buckets(int64_t total, int64_t first, int64_t floats) {
  require(total >= 0, "a gradient buffer of {} floats", total);
  std::vector<FloatRange> buckets;
  constexpr int64_t chunk = TreeSum::chunk;
  // Whole chunks, at least one.
  auto rounded = [](int64_t count) {
    return std::max<int64_t>(1, TreeSum::chunks_of(count)) * chunk;
  };
  int64_t size = rounded(first);
  for (int64_t begin = 0; begin < total; begin = buckets.back().end) {
    buckets.push_back({begin, std::min(total, begin + size)});
    size = rounded(floats);
  }
  return buckets;
}

std::vector<FloatRange> make_buckets(int64_t total, const BucketConfig& config) {
  auto floats = [](double mib) { return static_cast<int64_t>(mib * 1024 * 1024 / sizeof(float)); };
  return make_buckets(total, floats(config.first_mib), floats(config.mib));
}

}  // namespace spire
