// Samples mixed in pairs: mixup (Zhang et al. 2018: x = lambda a + (1 - lambda) b) and cutmix (Yun
// et al. 2019: a box of b within a, lambda = the share of a that is left).
//
// Row r of a tower's n samples is mixed with row n - 1 - r, and that one with it, by one lambda;
// the middle one of an odd number stays as it is. lambda, of Beta(alpha, alpha), and the box are
// drawn by (seed, epoch, sample of the lower row), so they do not depend on who hosts the tower.
#pragma once
#include <span>

#include "engine/base/philox.h"
#include "engine/data/sample.h"

namespace spire::inline data {

struct MixOptions {
  double mixup = 0.0, cutmix = 0.0;  // alpha, 0: off; with both each pair takes one by chance

  bool any() const { return mixup > 0 || cutmix > 0; }
};

// Immutable, so any thread may use it.
class Mixer {
 public:
  // columns: of the dataset, images or features and labels. Throws Error(config) for others.
  Mixer(std::vector<Column> columns, const MixOptions& options, uint64_t seed);

  // The dataset's columns, then other_labels and mix.
  const std::vector<Column>& columns() const { return columns_; }

  // Rows [first_row, first_row + samples.size()) hold a tower's samples. Mixes them and writes the
  // two further columns.
  void mix(std::span<const int64_t> samples, int64_t epoch, size_t first_row,
           std::span<std::byte* const> columns) const;

 private:
  float mix_pair(const RandomStream& draws, std::byte* a, std::byte* b) const;

  std::vector<Column> columns_;
  size_t labels_ = 0;  // which column
  MixOptions options_;
  uint64_t seed_;
};

// A draw of Beta(alpha, alpha), alpha > 0, from the numbers of the stream from block `first` on:
// two Gamma draws by Marsaglia, Tsang: "A Simple Method for Generating Gamma Variables", 2000.
double beta_draw(double alpha, const RandomStream& stream, uint64_t first);

}  // namespace spire::inline data
