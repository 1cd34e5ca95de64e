// Turns the graph of a language model over a whole window of tokens into a graph that reads a text
// a few tokens at a time, and keeps the keys and values of earlier tokens in a cache.
#pragma once
#include <optional>

#include "engine/graph/graph.h"
#include "kernels/ops/cached_attention/cached_attention.h"

namespace spire {

// window: built with training = false, before any pass; its first input is the tokens (N, T), and
// its output "output" depends on them alone. Returns a graph with the inputs tokens (N, rows) and
// "positions" (N, rows) i32, each token's place in the text from 0 to T - 1 (-1: padding, whose
// output means nothing), and the same output for these tokens. cached_attention.h has the order in
// which positions may come. Parameters keep their names. Returns nullopt for a model with an op
// that may mix positions in any way but by causal attention. cache: outlives the graph's plans.
std::optional<Graph> decoding_graph(Graph window, int64_t rows, KeyValueCache& cache);

}  // namespace spire
