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

// Compares names and shapes of the file with the model, without reading weights (except a head that
// must equal its table of tokens). Returns and throws what load_initial_weights() would on rank 0;
// empty for a resumed run. Both also compare what a checkpoint's model computes that no
// tensor shows, and the names of its classes, columns and tokens, with the run.
std::string match_initial_weights(const RunSetup& setup, Observer& observer);

// Whether data was scaled by other means or deviations.
bool other_normalization(const Normalization& a, const Normalization& b);

}  // namespace spire
