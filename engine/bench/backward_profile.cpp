#include "engine/bench/backward_profile.h"

#include <algorithm>
#include <map>

#include <spire/error.h>

namespace spire::inline bench {
namespace {

double flops_ceiling(const Ceilings& ceilings, RunConfig::Precision precision) {
  switch (precision) {
    case RunConfig::Precision::fp32:
      return ceilings.fp32_flops_per_s;
    case RunConfig::Precision::bf16:
      return ceilings.bf16_flops_per_s;
    case RunConfig::Precision::fp16:
      return ceilings.fp16_flops_per_s;
  }
  fail(Category::unexpected, "unknown precision");
}

// Returns the share of backward's time at the end of each node; 0 for those of forward.
std::vector<double> elapsed_shares(const Graph& graph, const NodeSeconds& seconds) {
  std::vector<double> elapsed;
  double total = 0;
  for (const Node& node : graph.nodes()) {
    if (node.backward) total += seconds(graph, node);
    elapsed.push_back(total);
  }
  require(total > 0, "a backward of no time");
  for (double& share : elapsed) share /= total;
  return elapsed;
}

// Returns the position of the last node that reads or writes each value.
std::map<int, size_t> last_uses(const Graph& graph) {
  std::map<int, size_t> last;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    for (const auto* values : {&graph.nodes()[n].inputs, &graph.nodes()[n].outputs}) {
      for (Value value : *values) last[value.id] = n;
    }
  }
  return last;
}

}  // namespace

NodeSeconds roofline_seconds(const Ceilings& ceilings, RunConfig::Precision precision) {
  auto devices = static_cast<double>(ceilings.devices);
  double flops = flops_ceiling(ceilings, precision) / devices;
  double bandwidth = ceilings.copy_bytes_per_s / devices;
  require(flops > 0 && bandwidth > 0, "a roofline without ceilings");
  return [flops, bandwidth](const Graph& graph, const Node& node) {
    std::vector<TensorSpec> inputs, outputs;
    double bytes = 0;
    for (Value value : node.inputs) inputs.push_back(graph.spec(value));
    for (Value value : node.outputs) outputs.push_back(graph.spec(value));
    for (const TensorSpec& spec : inputs) bytes += static_cast<double>(spec.bytes());
    for (const TensorSpec& spec : outputs) bytes += static_cast<double>(spec.bytes());
    auto multiply_adds = static_cast<double>(node.op->multiply_adds(inputs, outputs));
    return std::max(2 * multiply_adds / flops, bytes / bandwidth);
  };
}

std::vector<double> ready_shares(const LoweredGraph& lowered, const ParameterLayout& layout,
                                 const std::vector<FloatRange>& buckets,
                                 const NodeSeconds& seconds) {
  const Graph& graph = lowered.graph;
  std::vector<double> elapsed = elapsed_shares(graph, seconds);
  std::map<int, size_t> last = last_uses(graph);
  std::vector<double> ready(buckets.size(), 0.0);
  for (const auto& [parameter, gradient] : lowered.gradients) {
    int64_t begin = layout.find(graph.tensor(parameter).name).offset;
    double share = elapsed[last.at(gradient.id)];
    for (size_t b = 0; b < buckets.size(); ++b)
      if (begin < buckets[b].end) ready[b] = std::max(ready[b], share);
  }
  if (!ready.empty()) ready.back() = 1;
  return ready;
}

}  // namespace spire::inline bench
