// One row of the table of layers that `trainer plan` prints: an op with its size and cost.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace spire {

// Figures are of one run of the forward graph: all samples of its batch.
struct LayerRow {
  std::string name;  // of the layer, as its parameters have it ("stage1.block1.a.conv"); the op's
  std::string op;    // name for an op without parameters
  std::vector<int64_t> output_shape;  // of the first output, (batch, ...)
  std::string output_type;            // "f32", "bf16", "f16", ...
  int64_t parameters = 0;     // trained numbers; shared ones count at the first op that reads them
  int64_t multiply_adds = 0;  // FLOPs are twice that
  size_t activation_bytes = 0;  // of all its outputs; 0 for a view
};

}  // namespace spire
