// The models that a config names, and their sizes. Any thread.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <spire/dataset.h>
#include <spire/run_config.h>

namespace spire {

std::vector<std::string> known_models();  // the values of model.name

// Returns the keys that only models of this name use, without "model.": "depth".
std::vector<std::string> model_keys(const std::string& name);

// Returns the published sizes of the transformers of this name, which are values of model.size; the
// first is the default. None for other models.
std::vector<std::string> model_sizes(const std::string& name);

// Returns whether the model learns from data with these columns.
bool learns_from(const ModelConfig& model, const SampleSpec& data);

// Returns the number of the model's trained numbers for such data, without running statistics.
// Allocates none of them. Throws Error(config) for a model that does not fit the data.
int64_t count_parameters(const ModelConfig& model, const SampleSpec& data);

}  // namespace spire
