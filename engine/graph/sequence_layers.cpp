// Layers over sequences, (N, T, C): T positions of C features per sample.
#include "engine/graph/layers.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/ops/dense/dense.h"
#include "kernels/ops/embedding/embedding.h"
#include "kernels/ops/layer_norm/layer_norm.h"

namespace spire::inline graph {

Value layer_norm(Graph& graph, const std::string& name, Value x, float epsilon) {
  Shape width = {graph.spec(x).shape.back()};
  Value gamma = graph.parameter(name + ".gamma", width, constant(1));
  Value beta = graph.parameter(name + ".beta", width, constant(0));
  return graph.emit_op<LayerNormOp>({x, gamma, beta}, LayerNormAttributes{.epsilon = epsilon})[0];
}

Embedding embedding(Graph& graph, const std::string& name, Value ids, int64_t vocabulary,
                    int64_t width, DType dtype, Initializer initialize) {
  Value table = graph.parameter(name + ".weight", {vocabulary, width}, std::move(initialize));
  return {graph.emit_op<EmbeddingOp>({ids, table}, EmbeddingAttributes{.dtype = dtype})[0], table};
}

Value tied_dense(Graph& graph, Value table, Value x) {
  return graph.emit_op<DenseOp>({x, table})[0];
}

// Adds a bias over the T C elements of a sample. Views turn them into one axis, so BiasOp fits.
Value position_embedding(Graph& graph, const std::string& name, Value x, Initializer initialize,
                         int64_t positions) {
  Shape shape = graph.spec(x).shape, sample(shape.dims().subspan(1)), table = sample;
  if (positions > 0) table[0] = positions;
  Value weight = graph.parameter(name + ".weight", table, std::move(initialize));
  if (table != sample) weight = slice(graph, weight, 0, 0, sample[0]);
  Value rows = reshape(graph, x, {shape[0], sample.elements()});
  Value flat = reshape(graph, weight, {sample.elements()});
  return reshape(graph, graph.emit_op<BiasOp>({rows, flat})[0], shape);
}

Value attention(Graph& graph, Value qkv, const AttentionOptions& options) {
  // qkv stays one tensor: the op reads its three parts in place.
  AttentionAttributes attributes{.heads = options.heads,
                                 .causal = options.causal,
                                 .dropout = graph.training() ? options.dropout : 0.0f};
  return graph.emit_op<AttentionOp>({qkv}, attributes)[0];
}

}  // namespace spire::inline graph
