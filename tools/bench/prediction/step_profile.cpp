#include "tools/bench/prediction/step_profile.h"

#include <algorithm>
#include <map>

#include <spire/error.h>

#include "tools/bench/limits/ceilings.h"
#include "tools/bench/runs/variants.h"
#include "tools/performance/tower_work.h"

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

void expect_one_device(const Variant& variant, const Measurement& measured) {
  if (variant.devices != 1)
    fail(Category::config, "a prediction starts from one device, not from {}; measure that too",
         to_text(variant));
  if (measured.times.backward <= 0 || measured.step_seconds <= 0)
    fail(Category::config, "a prediction needs the times of forward and backward of {}",
         to_text(variant));
}

}  // namespace

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

StepProfile profile_of(const RunConfig& config, const Variant& variant, const Measurement& measured,
                       const Ceilings& ceilings) {
  expect_one_device(variant, measured);
  TowerWork tower = tower_work(config_of(variant, config));
  Roofline roofline = roofline_of(ceilings, 1.0 / static_cast<double>(ceilings.devices));
  auto seconds = [&](const OpWork& work) { return roofline.seconds(work); };
  return {.variant = variant,
          .batch_size = tower.batch,
          .step_seconds = measured.step_seconds,
          .times = measured.times,
          .buckets = tower.buckets,
          .ready = ready_shares(tower.lowered, tower.layout, tower.buckets, seconds)};
}

}  // namespace spire
