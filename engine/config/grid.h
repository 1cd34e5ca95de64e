// Grids over config keys: an axis is a key with a list of values, a point one value for each axis.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <spire/load_config.h>

namespace spire {

// Splits "0.1,0.05" at its commas: {"0.1", "0.05"}. Commas in brackets, braces and quotes belong to
// a value: "[16],[32,16]" are two. A text that has no other comma is one value, as it is.
std::vector<std::string> grid_values(const std::string& text);

// Reads a YAML map of config keys, each with a list of values:
//   optimizer.lr: [0.1, 0.05]
//   model.hidden: [[16], [32, 16]]
// Keys and values are not checked. Throws Error(config) with the place of what is no such map:
// "grid.yaml:2:1: expected a config key".
std::vector<GridAxis> read_grid(const ConfigText& text);

// Throws Error(config) for an unknown key, a key in `refused`, and a value that is listed twice.
void check_axis(const GridAxis& axis, const std::vector<std::string>& refused);

// Returns the overrides KEY=VALUE of a point. index: in [0, grid_size()); the last axis changes
// fastest.
std::vector<std::string> grid_point(const std::vector<GridAxis>& axes, size_t index);
size_t grid_size(const std::vector<GridAxis>& axes);

}  // namespace spire
