// Layers at both ends of a model of tables: vectors of categories in front of it, and behind it the
// unit of the values that it finds.
#pragma once
#include <vector>

#include <spire/dataset.h>
#include <spire/graph.h>

namespace spire {

// features (N, F) of the columns of a table -> (N, G): each embedded column's levels become a
// vector, the row of the parameter embedding.<column>.weight (width, levels) for the level; a word
// that is no level becomes zeros. The vector of L levels has min(50, (L + 1) / 2) numbers. Other
// features stay. Guo, Berkhahn, "Entity Embeddings of Categorical Variables", 2016.
Value embed_categories(Graph& graph, Value features, const std::vector<TableColumn>& table);

// Values (N, K) f32 -> (value - mean) / stddev, and what a model finds -> found * stddev + mean, in
// fp32. With an empty `by` they return their argument.
Value standardized(Graph& graph, Value values, const Normalization& by);
Value in_own_unit(Graph& graph, Value found, const Normalization& by);

}  // namespace spire
