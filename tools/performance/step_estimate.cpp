#include "tools/performance/step_estimate.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "engine/graph/passes.h"
#include "engine/observe/formatting.h"
#include "engine/run/run_setup.h"
#include "engine/update/optimizer.h"

namespace spire {
namespace {

constexpr size_t longest = 10;  // ops that are listed

bool is(std::string_view op, std::string_view family) {
  return op.starts_with(family);
}

double share_of(std::string_view op, const ReachedShares& shares) {
  if (is(op, "conv")) return shares.convolution;
  return is(op, "attention") ? shares.attention : shares.product;
}

class Estimator {
 public:
  explicit Estimator(StepEstimate& estimate) : estimate_(estimate) {}

  void add(const OpWork& work) {
    const auto& [gpu, shares, ops] = estimate_;
    double peak = (size_of(work.type) == 2 ? gpu.tensor_tflops : gpu.fp32_tflops) * 1e12;
    double arithmetic = work.flops / (share_of(work.op, shares) * peak);
    double launches = is(work.op, "batch_norm") ? 2 : 1;
    estimate_.ops.push_back({work, std::max(arithmetic, memory_seconds(work.bytes)) +
                                       launches * shares.launch_seconds});
  }

  // The update reads gradients twice (norm, update), reads and writes weights and slots (4 bytes
  // each), and where `packed` is a 16-bit type reads the weights again and writes 2 bytes.
  void add_update(const Graph& graph, int64_t slots, DType packed) {
    double parameters = 0;
    for (Value value : graph.values_of(Role::parameter))
      if (!graph.tensor(value).frozen)
        parameters += static_cast<double>(graph.spec(value).shape.elements());
    double each = 4 * (2 + 2 + 2 * static_cast<double>(slots));
    if (size_of(packed) == 2) each += 4 + 2;
    OpWork work{.layer = {}, .op = "update", .shapes = {}, .pass = Pass::update};
    work.bytes = each * parameters;
    estimate_.ops.push_back(
        {work, memory_seconds(work.bytes) + 2 * estimate_.shares.launch_seconds});
  }

 private:
  double memory_seconds(double bytes) const {
    return bytes / (estimate_.shares.bandwidth * estimate_.gpu.bandwidth * 1e9);
  }

  StepEstimate& estimate_;
};

std::vector<std::string> cells_of(const std::string& first, const std::string& second,
                                  const OpEstimate& op, double step) {
  return {first,
          second,
          fmt::format("{:.3f}", op.flops / 1e12),
          fmt::format("{:.2f}", op.bytes / 1e9),
          fmt::format("{:.2f}", op.seconds * 1e3),
          fmt::format("{:.0f}%", 100 * op.seconds / step)};
}

void add_numbers(OpEstimate& sum, const OpEstimate& op) {
  sum.flops += op.flops;
  sum.bytes += op.bytes;
  sum.seconds += op.seconds;
}

OpEstimate sum_of(const std::vector<OpEstimate>& ops) {
  OpEstimate sum;
  for (const OpEstimate& op : ops) add_numbers(sum, op);
  return sum;
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
  Estimator estimator(estimate);
  for (const OpWork& work : work_of(graph, gradients)) estimator.add(work);
  estimator.add_update(graph, slots, packed);
  return estimate;
}

StepEstimate estimate_step(const RunConfig& config, const std::string& gpu) {
  const DescribedGpu& described = described_gpu(gpu);
  Observer silent;
  RunConfig here = config;  // where no GPU need be: shapes are the same
  here.devices = {"cpu"};
  here.parameter_device = "auto";
  if (config.precision == RunConfig::Precision::fp16) here.precision = RunConfig::Precision::bf16;
  RunSetup setup(here, {}, silent);
  TowerTrainerOptions options = setup.trainer_options();
  // The same passes as in a trainer, in the same order.
  Graph graph = options.build(setup.placement.batch_size, true);
  fuse_activations(graph);
  auto gradients = differentiate(graph);
  std::vector<Value> keep;
  for (const auto& [parameter, gradient] : gradients) keep.push_back(gradient);
  remove_dead_nodes(graph, keep);
  if (recomputes(options.config)) recompute_blocks(graph);
  auto slots = static_cast<int64_t>(slot_names(options.config.optimizer).size());
  return estimate_step(graph, gradients, slots, compute_dtype(options.config), described);
}

std::string to_text(const StepEstimate& estimate) {
  const auto& [gpu, shares, ops] = estimate;
  OpEstimate step = sum_of(ops);
  std::string text = fmt::format(
      "estimate of a tower's step on {}, from operations and bytes; nothing was measured\n"
      "peaks: {:g} TFLOP/s in 16 bits, {:g} in fp32, {:g} GB/s\n"
      "assumed: {:.0f}% of them in products, {:.0f}% in convolutions, {:.0f}% in attention, "
      "{:.0f}% of the bandwidth; {:g} us a kernel\n\n",
      gpu.name, gpu.tensor_tflops, gpu.fp32_tflops, gpu.bandwidth, 100 * shares.product,
      100 * shares.convolution, 100 * shares.attention, 100 * shares.bandwidth,
      1e6 * shares.launch_seconds);
  TextTable table = {{"pass", "op", "TFLOP", "GB", "ms", "share"}};
  for (const OpEstimate& kind : sums_by_kind(ops, add_numbers))
    table.push_back(cells_of(word_of(kind.pass), kind.op, kind, step.seconds));
  for (Pass pass : {Pass::forward, Pass::backward, Pass::update}) {
    std::vector<OpEstimate> own;
    std::ranges::copy_if(ops, std::back_inserter(own),
                         [&](const OpEstimate& op) { return op.pass == pass; });
    table.push_back(cells_of(word_of(pass), "all", sum_of(own), step.seconds));
  }
  table.push_back(cells_of("step", "all", step, step.seconds));
  std::vector<OpEstimate> sorted = ops;
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &OpEstimate::seconds);
  sorted.resize(std::min(sorted.size(), longest));
  TextTable tops = {{"longest", "layer", "TFLOP", "GB", "ms", "share"}};
  for (const OpEstimate& op : sorted) tops.push_back(cells_of(op.op, op.layer, op, step.seconds));
  return text + aligned_text(table) + "\n" + aligned_text(tops);
}

}  // namespace spire
