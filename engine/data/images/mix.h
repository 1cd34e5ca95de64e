// Mixes the samples of a batch in pairs (a, b): mixup (Zhang et al. 2018) replaces a by
// lambda * a + (1 - lambda) * b; cutmix (Yun et al. 2019) puts a box of b into a, and lambda is the
// share of a that remains. Likewise b is mixed with a. Rows r and n - 1 - r of the n samples of a
// tower (an equal share of a global batch) form a pair; if n is odd, the middle row stays.
// lambda ~ Beta(alpha, alpha) and the box are functions of (seed, epoch, sample of row r).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <spire/random_stream.h>

#include "engine/data/sample.h"

namespace spire {

struct MixOptions {
  double mixup = 0.0, cutmix = 0.0;  // alpha; 0 turns it off; if both are on, each pair draws one

  bool any() const { return mixup > 0 || cutmix > 0; }
};

class Mixer {  // immutable, hence thread-safe
 public:
  // columns: of the dataset. Throws Error(config) unless these are images or features, and labels.
  Mixer(std::vector<Column> columns, const MixOptions& options, uint64_t seed);

  // The dataset's columns, then other_labels i32, the other row's labels, and mix f32, lambda.
  const std::vector<Column>& columns() const { return columns_; }

  // Mixes a tower's samples, rows from first_row on, in place, and writes the two added columns.
  void mix(std::span<const int64_t> samples, int64_t epoch, size_t first_row,
           std::span<std::byte* const> columns) const;

 private:
  float mix_pair(const RandomStream& draws, std::byte* a, std::byte* b) const;

  std::vector<Column> columns_;
  size_t labels_ = 0;  // index of the column `labels`
  MixOptions options_;
  uint64_t seed_;
};

// Draws from Beta(alpha, alpha), alpha > 0, with the random blocks of `stream` from `first` on.
double beta_draw(double alpha, const RandomStream& stream, uint64_t first);

}  // namespace spire
