// Mixes samples in pairs: mixup (Zhang et al. 2018), x = lambda a + (1 - lambda) b, and cutmix (Yun
// et al. 2019), a box of b within a, where lambda is the share of a that remains. Rows r and n - 1
// - r of a tower's n samples form a pair; the middle row of an odd number stays. lambda ~
// Beta(alpha, alpha) and the box are drawn by (seed, epoch, sample of the lower row).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/philox.h"
#include "engine/data/sample.h"

namespace spire::inline data {

struct MixOptions {
  double mixup = 0.0, cutmix = 0.0;  // alpha, 0: off; with both, each pair draws one of them

  bool any() const { return mixup > 0 || cutmix > 0; }
};

class Mixer {  // immutable: any thread may use it
 public:
  // columns: of the dataset: images or features, and labels. Throws Error(config) for others.
  Mixer(std::vector<Column> columns, const MixOptions& options, uint64_t seed);

  // The dataset's columns, then other_labels i32, of the pair's other row, and mix f32, lambda.
  const std::vector<Column>& columns() const { return columns_; }

  // Mixes a tower's samples, rows from first_row on, in place, and writes the two added columns.
  void mix(std::span<const int64_t> samples, int64_t epoch, size_t first_row,
           std::span<std::byte* const> columns) const;

 private:
  float mix_pair(const RandomStream& draws, std::byte* a, std::byte* b) const;

  std::vector<Column> columns_;
  size_t labels_ = 0;  // index of the column
  MixOptions options_;
  uint64_t seed_;
};

// Draws from Beta(alpha, alpha), alpha > 0, by the stream's blocks from `first` on.
double beta_draw(double alpha, const RandomStream& stream, uint64_t first);

}  // namespace spire::inline data
