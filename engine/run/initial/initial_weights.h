// Weights of a file as the beginning of a new run (config.init).
#pragma once
#include <string>

#include <spire/observer.h>

#include "engine/run/run_setup.h"
#include "engine/train/tower_trainer.h"

namespace spire {

// Sets the trainer's weights and running statistics to those of the file; collective, before the
// first step. Rank 0 alone reads it. Returns what was loaded and what was not, for the start
// report; empty without init.from and on other ranks. Throws as WeightFile and WeightMatch do.
std::string load_initial_weights(const RunSetup& setup, TowerTrainer& trainer, Observer& observer);

// Compares names and shapes of the file's tensors with the model's; values only where the model has
// one weight for head and table of tokens, which must be equal in the file. Returns and throws what
// load_initial_weights() would on rank 0; empty for a resumed run. Both functions also compare with
// the run what tensors of a checkpoint do not show: heads, epsilon, layers without weights, scaling
// of data, names of classes, columns and tokens.
std::string match_initial_weights(const RunSetup& setup, Observer& observer);

// Returns whether `a` and `b` scale data by different means or standard deviations.
bool other_normalization(const Normalization& a, const Normalization& b);

}  // namespace spire
