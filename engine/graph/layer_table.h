// What each layer of a model makes and costs, read off its forward graph.
#pragma once
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace spire::inline graph {

// One op. Figures are of one run of the graph: all samples of its batch.
struct LayerRow {
  std::string name;   // of its parameters, without the last word ("stage1.block1.a.conv"); the op's
  std::string op;     // name where it has none
  TensorSpec output;  // the first one
  int64_t parameters = 0;       // trained numbers; those that several ops share count at the first
  int64_t multiply_adds = 0;    // FLOPs are twice that
  size_t activation_bytes = 0;  // of all its outputs; 0 for a view
};

// In the order in which the graph runs. Call it before differentiate(): backward ops are layers of
// nobody's.
std::vector<LayerRow> layer_table(const Graph& graph);

// The row of all: sums of parameters, multiply-adds and bytes; op and output are those of no op.
LayerRow total_of(const std::vector<LayerRow>& rows);

}  // namespace spire::inline graph
