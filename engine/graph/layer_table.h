// A table of the layers of a model: shapes, parameters and costs, from its forward graph.
#pragma once
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace spire::inline graph {

// One op. Figures are of one run of the graph, over all samples of the batch.
struct LayerRow {
  std::string name;  // prefix of its parameters' names ("stage1.block1.a.conv"), else the op's name
  std::string op;
  TensorSpec output;            // the first one
  int64_t parameters = 0;       // elements; a shared parameter counts at its first op
  int64_t multiply_adds = 0;    // FLOPs are twice that
  size_t activation_bytes = 0;  // of all its outputs; 0 for a view
};

// Returns a row per op, in the order in which they run. REQUIRES: a graph before differentiate().
std::vector<LayerRow> layer_table(const Graph& graph);

// Returns the sums of parameters, multiply-adds and bytes as a row without op and output.
LayerRow total_of(const std::vector<LayerRow>& rows);

}  // namespace spire::inline graph
