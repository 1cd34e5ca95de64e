#include "models/adapters.h"

#include <algorithm>
#include <map>

#include <spire/layers.h>

#include "engine/base/adapter_names.h"
#include "engine/base/fail.h"
#include "engine/base/name_patterns.h"
#include "kernels/ops/dense/dense.h"

namespace spire {
namespace {

int64_t count_uses(const Graph& graph, Value value) {
  int64_t uses = 0;
  for (const Node& node : graph.nodes()) uses += std::ranges::count(node.inputs, value);
  return uses;
}

// Returns the name of the dense layer that a node computes; "" for other nodes, and where the
// matrix is not the layer's own.
std::string dense_layer(const Graph& graph, const Node& node) {
  if (node.op->name() != "dense") return "";
  const Tensor& weight = graph.tensor(node.inputs[1]);
  bool own = weight.role == Role::parameter && !weight.teacher &&
             weight.name.ends_with(weight_suffix) && count_uses(graph, node.inputs[1]) == 1;
  return own ? weight.name.substr(0, weight.name.size() - weight_suffix.size()) : "";
}

// Moves the nodes from `begin` on, which were added last, behind node `after`, into its block.
void move_behind(Graph& graph, size_t after, size_t begin) {
  std::vector<Node>& nodes = graph.nodes();
  for (size_t n = begin; n < nodes.size(); ++n) nodes[n].block = nodes[after].block;
  auto at = [&](size_t n) { return nodes.begin() + static_cast<std::ptrdiff_t>(n); };
  std::rotate(at(after + 1), at(begin), nodes.end());
}

// Adds the product to the layer that node `n` computes. Returns the number of nodes added.
size_t adapt(Graph& graph, size_t n, const std::string& name, const LoraConfig& lora) {
  Value x = graph.nodes()[n].inputs[0], y = graph.nodes()[n].outputs[0];
  size_t begin = graph.nodes().size();
  int64_t in = graph.spec(x).shape.back(), out = graph.spec(y).shape.back();
  Value low = dense(graph, fmt::format("{}{}", name, lora_a), x, lora.rank, false,
                    init::linear_uniform(in));
  Value product =
      dense(graph, fmt::format("{}{}", name, lora_b), low, out, false, init::constant(0));
  auto factor = static_cast<float>(adapter_factor(lora));
  Value sum = add(graph, y, scale(graph, product, factor));
  size_t added = graph.nodes().size() - begin;
  move_behind(graph, n, begin);
  for (size_t later = n + added + 1; later < graph.nodes().size(); ++later)
    std::ranges::replace(graph.nodes()[later].inputs, y, sum);
  for (const auto& [output, value] : std::map(graph.outputs()))
    if (value == y) graph.mark_output(output, sum);
  return added;
}

std::vector<std::string> dense_layers(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes())
    if (std::string name = dense_layer(graph, node); !name.empty()) names.push_back(name);
  return names;
}

}  // namespace

void adapt_dense_layers(Graph& graph, const LoraConfig& lora) {
  if (lora.rank == 0) return;
  std::vector<std::string> layers = dense_layers(graph);
  if (layers.empty())
    fail(Category::config,
         "adapt.lora: the model has no dense layers to adapt; set rank 0, and freeze to train some "
         "of its parameters");
  require_matches("adapt.lora.patterns", lora.patterns, layers);
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    std::string name = dense_layer(graph, graph.nodes()[n]);
    if (name.empty() || (!lora.patterns.empty() && !first_match(lora.patterns, name))) continue;
    n += adapt(graph, n, name, lora);
  }
  graph.reindex();
  for (size_t n = 0; n < graph.nodes().size(); ++n) graph.nodes()[n].id = static_cast<int>(n);
}

FreezeOptions freeze_beside_adapters(const Graph& graph, const LoraConfig& lora,
                                     FreezeOptions freeze) {
  if (lora.rank == 0) return freeze;
  freeze.trained = {fmt::format("*{}{}", lora_a, weight_suffix),
                    fmt::format("*{}{}", lora_b, weight_suffix)};
  if (freeze.patterns.empty()) {
    freeze.patterns = {"*"};
    return freeze;
  }
  for (Value value : graph.values_of(Role::parameter))
    if (std::string layer = adapted_layer(graph.tensor(value).name); !layer.empty())
      freeze.patterns.push_back(fmt::format("{}{}", layer, weight_suffix));
  return freeze;
}

double adapter_factor(const LoraConfig& lora) {
  return lora.rank == 0 ? 0 : lora.alpha / static_cast<double>(lora.rank);
}

}  // namespace spire
