// Grids over config keys: each key with the values that it takes, every combination one point.
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
// Throws Error(config) with the place: "grid.yaml:2:1: optimizer.lrr: unknown key; ...".
std::vector<GridAxis> read_grid(const ConfigText& text);

// Throws Error(config) for an unknown key, one of `refused`, and a value that is listed twice.
void check_axis(const GridAxis& axis, const std::vector<std::string>& refused);

// Returns the words KEY=VALUE of a point; index is below the product of the axes' sizes. The last
// axis changes fastest.
std::vector<std::string> grid_point(const std::vector<GridAxis>& axes, size_t index);
size_t grid_size(const std::vector<GridAxis>& axes);

}  // namespace spire
