// What a benchmark trains in the place of a config's model or data.
#pragma once
#include <string>
#include <vector>

#include <spire/load_config.h>
#include <spire/run_config.h>

namespace spire {

std::vector<std::string> built_in_models();  // "mlp", "cnn", ...
// Returns one of them as YAML, with synthetic data. Throws Error(config) with the known names.
ConfigText built_in_model(const std::string& name);

// Opens the config's dataset for the form of its samples, and replaces it by random samples in
// memory, which need no decoding, normalization or augmentation. Throws Error(config) for targets
// that the synthetic dataset lacks, and, with a remedy, what open_dataset() throws.
void use_synthetic_data(RunConfig& config);

}  // namespace spire
