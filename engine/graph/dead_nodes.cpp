#include "engine/graph/passes.h"

namespace spire::inline graph {

int remove_dead_nodes(Graph& graph, std::span<const Value> also) {
  std::vector<bool> live(static_cast<size_t>(graph.value_count()), false);
  auto keep = [&](Value value) { live[static_cast<size_t>(value.id)] = true; };
  for (const auto& [name, value] : graph.outputs()) keep(value);
  for (Value loss : graph.losses()) keep(loss);
  for (const StateUpdate& update : graph.state_updates()) keep(update.contribution);
  for (Value value : also) keep(value);

  auto& nodes = graph.nodes();
  std::vector<bool> used(nodes.size(), false);
  for (size_t n = nodes.size(); n-- > 0;) {
    for (Value output : nodes[n].outputs) used[n] = used[n] || live[static_cast<size_t>(output.id)];
    if (!used[n]) continue;
    for (Value input : nodes[n].inputs) keep(input);
  }
  std::vector<Node> kept;
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (used[n]) kept.push_back(std::move(nodes[n]));
  }
  int removed = static_cast<int>(nodes.size() - kept.size());
  nodes = std::move(kept);
  graph.reindex();
  graph.number_nodes();
  return removed;
}

}  // namespace spire::inline graph
