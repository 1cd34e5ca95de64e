// Layers before and after a model of tables: before it embeddings of categories, after it the
// scaling of predicted values to the target's own unit.
#pragma once
#include <vector>

#include <spire/dataset.h>
#include <spire/graph.h>

namespace spire {

// features (N, F) of the columns of a table -> (N, G): the one-hot levels of each embedded column
// become a vector, the level's column of the parameter embedding.<index of the column>.weight
// (width, levels). A word that is no level gives zeros. The width for L levels is min(50, (L + 1) /
// 2). Other features stay as they are. Guo, Berkhahn, "Entity Embeddings of Categorical Variables",
// 2016.
Value embed_categories(Graph& graph, Value features, const std::vector<TableColumn>& table);

// standardized(): targets (N, K) f32 -> (value - mean) / stddev. in_own_unit(), its inverse:
// predicted values -> found * stddev + mean, in fp32. Both return their argument if `by` is empty.
Value standardized(Graph& graph, Value values, const Normalization& by);
Value in_own_unit(Graph& graph, Value found, const Normalization& by);

}  // namespace spire
