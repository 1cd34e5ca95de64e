// Orders of samples: a sampler's for an epoch, and the file's.
#pragma once
#include <numeric>
#include <vector>

#include "engine/data/sampler.h"

namespace spire {

inline std::vector<int64_t> order(const Sampler& sampler, int64_t epoch) {
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < sampler.count(); ++i) samples.push_back(sampler.index(epoch, i));
  return samples;
}

inline std::vector<int64_t> identity(int64_t count) {
  std::vector<int64_t> samples(static_cast<size_t>(count));
  std::iota(samples.begin(), samples.end(), 0);
  return samples;
}

}  // namespace spire
