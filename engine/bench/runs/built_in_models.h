// The models that `trainer bench --model` names, as configs with synthetic data. They are those of
// docs/benchmarks.md and tools/bench, so that figures compare.
#pragma once
#include <string>
#include <vector>

#include <spire/load_config.h>

namespace spire::inline bench {

std::vector<std::string> built_in_models();  // "mlp", "cnn", ...

// Returns YAML. Throws Error(config) with the known names.
ConfigText built_in_model(const std::string& name);

}  // namespace spire::inline bench
