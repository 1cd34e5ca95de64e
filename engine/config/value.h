// One YAML value into its field. Not installed: yaml-cpp stays inside this folder.
#pragma once
#include "engine/config/node.h"
#include "engine/config/schema.h"

namespace spire::inline config {

// Sets the field from the node, after checking type, allowed words and range, and returns the
// field's note of it, mostly empty. Null sets a field that has an `unset` meaning back to its
// default. Throws Error(config) without place or path, or
// NodeProblems with both; then the field's value is as before.
std::string assign(const Field& field, const YAML::Node& node, RunConfig& config);

// Words and ranges of the value that the field has now; throws Error(config).
void check_value(const Field& field, RunConfig& config);

}  // namespace spire::inline config
