// A lane's share of the packing of one device's weights after an update on the CPU: what it can
// pack while it updates, with the weights in the cache, and its part of the units that read weights
// of several lanes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/device/stream.h"
#include "engine/graph/parameter_layout.h"
#include "engine/update/tree.h"

namespace spire {

class PackingShare {
 public:
  // Divides all units among the lanes of which lane i updates the plain weights `updated[i]`. A
  // unit whose weights one lane updates is packed by that lane; the others are dealt out evenly.
  static std::vector<PackingShare> divide(const PackedWeights& forms,
                                          const std::vector<FloatRange>& updated);

  void begin() { next_ = 0; }  // a new step
  // Packs the units whose last weight is the lane's and before `at`. Allocates nothing.
  void pack_before(int64_t at, PackedWeights& forms, const float* weights, Stream& stream);
  // Packs the lane's part of the others. REQUIRES: all lanes have updated their weights.
  void pack_shared(PackedWeights& forms, const float* weights, Stream& stream) const;

 private:
  std::vector<PackedWeights::Unit> own_, shared_;  // own_: in the order in which they end
  size_t next_ = 0;                                // index into own_
};

}  // namespace spire
