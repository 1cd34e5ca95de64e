// A table of the layers of a model: shapes, parameters and costs, from its forward graph.
#pragma once
#include <string>
#include <vector>

#include <spire/layer_row.h>

#include "engine/graph/graph.h"

namespace spire::inline graph {

// In the order in which the graph runs. Call it before differentiate(): backward ops are layers of
// nobody's.
std::vector<LayerRow> layer_table(const Graph& graph);

// Returns the sums of parameters, multiply-adds and bytes as a row without op and output.
LayerRow total_of(const std::vector<LayerRow>& rows);

}  // namespace spire::inline graph
