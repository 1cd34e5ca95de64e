// Replaces the data of a config by synthetic samples of the same form.
#pragma once
#include <spire/run_config.h>

namespace spire {

// Opens the config's dataset for the form of its samples, and replaces it by random samples in
// memory, which need no decoding, normalization or augmentation. Throws Error(config) for targets
// that the synthetic dataset lacks, and, with a remedy, what open_dataset() throws.
void use_synthetic_data(RunConfig& config);

}  // namespace spire
