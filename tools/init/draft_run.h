// Writes a config for data: model, sizes, batch and learning rate that follow from it.
#pragma once
#include <filesystem>
#include <string>

#include "tools/init/config_draft.h"

namespace spire::tool {

// Opens the data and chooses. model: a name of model_names(), or auto. Throws Error(config) for
// data whose format is not recognized, and what the dataset throws.
ConfigDraft draft_run(const std::filesystem::path& data, const std::string& model);

}  // namespace spire::tool
