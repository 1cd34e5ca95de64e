#include "tools/performance/step_estimate.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "engine/observe/formatting.h"
#include "tools/performance/tower_work.h"

namespace spire {
namespace {

constexpr size_t longest = 10;  // ops that are listed

Roofline roofline_of(const DescribedGpu& gpu, const ReachedShares& shares) {
  double tensor = gpu.tensor_tflops * 1e12;
  return {.fp32 = gpu.fp32_tflops * 1e12,
          .bf16 = tensor,
          .fp16 = tensor,
          .bytes_per_s = shares.bandwidth * gpu.bandwidth * 1e9,
          .product = shares.product,
          .convolution = shares.convolution,
          .attention = shares.attention,
          .launch_seconds = shares.launch_seconds};
}

// The update reads gradients twice (norm, update), reads and writes weights and slots (4 bytes
// each), and where `packed` is a 16-bit type reads the weights again and writes 2 bytes.
OpWork work_of_update(const Graph& graph, int64_t slots, DType packed) {
  double parameters = 0;
  for (Value value : graph.values_of(Role::parameter))
    if (!graph.tensor(value).frozen)
      parameters += static_cast<double>(graph.spec(value).shape.elements());
  double each = 4 * (2 + 2 + 2 * static_cast<double>(slots));
  if (size_of(packed) == 2) each += 4 + 2;
  OpWork work{.layer = {}, .op = "update", .shapes = {}, .pass = Pass::update};
  work.bytes = each * parameters;
  return work;
}

std::vector<std::string> cells_of(const std::string& first, const std::string& second,
                                  const OpTime& op, double step) {
  return {first,
          second,
          fmt::format("{:.3f}", op.flops / 1e12),
          fmt::format("{:.2f}", op.bytes / 1e9),
          fmt::format("{:.2f}", op.seconds * 1e3),
          fmt::format("{:.0f}%", 100 * op.seconds / step)};
}

}  // namespace

// NVIDIA's data sheets: "H100 Tensor Core GPU" and "A100 Tensor Core GPU" (SXM), "L4 Tensor Core
// GPU", "Ada GPU Architecture" (RTX 4090; fp32 sums).
const std::vector<DescribedGpu>& described_gpus() {
  static const std::vector<DescribedGpu> table = {
      {"h100", 989, 67, 3350},
      {"a100", 312, 19.5, 2039},
      {"l4", 121, 30.3, 300},
      {"rtx4090", 165, 82.6, 1008},
  };
  return table;
}

const DescribedGpu& described_gpu(const std::string& name) {
  std::vector<std::string> names;
  for (const DescribedGpu& gpu : described_gpus()) {
    if (gpu.name == name) return gpu;
    names.push_back(gpu.name);
  }
  fail(Category::config, "--gpu {}: unknown GPU; must be one of: {}", name, fmt::join(names, ", "));
}

StepEstimate estimate_step(const Graph& graph, const std::vector<ParameterGradient>& gradients,
                           int64_t slots, DType packed, const DescribedGpu& gpu) {
  StepEstimate estimate{gpu, {}, {}};
  Roofline roofline = roofline_of(gpu, estimate.shares);
  for (const OpWork& work : work_of(graph, gradients))
    estimate.ops.push_back({work, roofline.seconds(work), 0});
  OpWork update = work_of_update(graph, slots, packed);
  double launches = 2 * roofline.launch_seconds;
  estimate.ops.push_back({update, roofline.bytes_seconds(update.bytes) + launches, 0});
  return estimate;
}

StepEstimate estimate_step(const RunConfig& config, const std::string& gpu) {
  const DescribedGpu& described = described_gpu(gpu);
  TowerWork tower = tower_work(config);
  return estimate_step(tower.lowered.graph, tower.lowered.gradients, tower.slots, tower.precision,
                       described);
}

std::string to_text(const StepEstimate& estimate) {
  const auto& [gpu, shares, ops] = estimate;
  OpTime step = sum_of(ops);
  std::string text = fmt::format(
      "estimate of a tower's step on {}, from operations and bytes; nothing was measured\n"
      "peaks: {:g} TFLOP/s in 16 bits, {:g} in fp32, {:g} GB/s\n"
      "assumed: {:.0f}% of them in products, {:.0f}% in convolutions, {:.0f}% in attention, "
      "{:.0f}% of the bandwidth; {:g} us a kernel\n\n",
      gpu.name, gpu.tensor_tflops, gpu.fp32_tflops, gpu.bandwidth, 100 * shares.product,
      100 * shares.convolution, 100 * shares.attention, 100 * shares.bandwidth,
      1e6 * shares.launch_seconds);
  TextTable table = {{"pass", "op", "TFLOP", "GB", "ms", "share"}};
  for (const OpTime& kind : sums_by_kind(ops))
    table.push_back(cells_of(word_of(kind.pass), kind.op, kind, step.seconds));
  for (Pass pass : {Pass::forward, Pass::backward, Pass::update})
    table.push_back(cells_of(word_of(pass), "all", sum_of(ops, pass), step.seconds));
  table.push_back(cells_of("step", "all", step, step.seconds));
  std::vector<OpTime> sorted = ops;
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &OpTime::seconds);
  sorted.resize(std::min(sorted.size(), longest));
  TextTable tops = {{"longest", "layer", "TFLOP", "GB", "ms", "share"}};
  for (const OpTime& op : sorted) tops.push_back(cells_of(op.op, op.layer, op, step.seconds));
  return text + aligned_text(table) + "\n" + aligned_text(tops);
}

}  // namespace spire
