// Weights of a file as the beginning of a new run (config.init).
#pragma once
#include <string>

#include <spire/observer.h>

#include "engine/run/run_setup.h"
#include "engine/train/trainer.h"

namespace spire::inline run {

// Sets the trainer's weights and running statistics to those of the file; collective, before the
// first step. Rank 0 alone reads it. Returns what was loaded and what was not, for the start
// report; empty without init.from and on other ranks. Throws as WeightFile and WeightMatch do.
std::string load_initial_weights(const RunSetup& setup, Trainer& trainer, Observer& observer);

}  // namespace spire::inline run
