#include "tools/bench/prediction/backward_profile.h"

#include <algorithm>
#include <map>

#include <spire/error.h>

namespace spire {
namespace {

// Returns the share of backward's time at the end of each node; 0 for those of forward.
std::vector<double> elapsed_shares(const LoweredGraph& lowered, const OpSeconds& seconds) {
  std::vector<OpWork> work = work_of(lowered.graph, lowered.gradients);
  std::vector<double> elapsed;
  double total = 0;
  size_t op = 0;  // views have no work
  for (const Node& node : lowered.graph.nodes()) {
    if (!node.op->is_view()) {
      if (node.backward) total += seconds(work[op]);
      ++op;
    }
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

OpSeconds roofline_seconds(const Ceilings& ceilings, RunConfig::Precision precision) {
  auto devices = static_cast<double>(ceilings.devices);
  double flops = flops_per_s(ceilings, precision) / devices;
  double bandwidth = ceilings.copy_bytes_per_s / devices;
  require(flops > 0 && bandwidth > 0, "a roofline without ceilings");
  return [flops, bandwidth](const OpWork& work) {
    return std::max(work.flops / flops, work.bytes / bandwidth);
  };
}

std::vector<double> ready_shares(const LoweredGraph& lowered, const ParameterLayout& layout,
                                 const std::vector<FloatRange>& buckets, const OpSeconds& seconds) {
  const Graph& graph = lowered.graph;
  std::vector<double> elapsed = elapsed_shares(lowered, seconds);
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

}  // namespace spire
