// What each layer of a model makes and costs, read off its forward graph.
#pragma once
#include <string>
#include <vector>

#include <spire/layer_row.h>

#include "engine/graph/graph.h"

namespace spire::inline graph {

// In the order in which the graph runs. Call it before differentiate(): backward ops are layers of
// nobody's.
std::vector<LayerRow> layer_table(const Graph& graph);

// The row of all: sums of parameters, multiply-adds and bytes; op and output are those of no op.
LayerRow total_of(const std::vector<LayerRow>& rows);

}  // namespace spire::inline graph
