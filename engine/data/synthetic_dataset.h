// Samples made from random numbers: any shape, no files. What sample i holds is a function of
// (seed, i) alone; the test set goes on where the training set ends.
//
// images (H, W, C), features (F) and labels: uniform noise of deviation 0.8 around +0.6 or -0.6,
//   block by block: each label has a pattern of its own over 8 x 8 blocks (features: 64), which the
//   seed draws. Mean 0, deviation 1; a model can learn the patterns.
// tokens (T) and targets (T): cut from one long sequence, in which a token is followed by its one
//   successor in 3 of 4 places, by any token in the others.
#pragma once
#include "engine/data/dataset.h"

namespace spire::inline data {

// config.synthetic; config.path is not used.
DatasetPair open_synthetic(const DataConfig& config, const ReadOptions& options);

}  // namespace spire::inline data
