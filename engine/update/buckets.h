// Buckets: cuts of the flat gradient buffer. Each is exchanged as soon as its last gradient is
// written, while backward goes on.
#pragma once
#include <cstdint>
#include <vector>

#include <spire/run_config.h>

#include "engine/update/tree.h"

namespace spire {

// Cuts `total` floats into buckets of `floats`; the first has `first` floats, so that reduction
// starts early. Buckets, like the parts from share_of(), begin at multiples of TreeSum::chunk.
std::vector<FloatRange> make_buckets(int64_t total, int64_t first, int64_t floats);
// The same in the sizes of the config.
std::vector<FloatRange> make_buckets(int64_t total, const BucketConfig& config);

}  // namespace spire
