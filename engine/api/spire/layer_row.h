// Row of the table of layers that `trainer plan` prints: one op with its size and cost.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace spire {

// All numbers are for one forward pass over a whole batch.
struct LayerRow {
  // The layer of the op's parameters: "stage1.block1.a.conv"; `op` if it has no parameters.
  std::string name;
  std::string op;                     // "conv2d"
  std::vector<int64_t> output_shape;  // (batch, ...), of the first output
  std::string output_type;            // "f32", "bf16", "f16", ...
  int64_t parameters = 0;             // trainable numbers; shared ones count only at the first op
  int64_t multiply_adds = 0;          // FLOPs are twice as many
  size_t activation_bytes = 0;        // bytes of all outputs; 0 for a view
};

}  // namespace spire
