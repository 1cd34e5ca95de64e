#include "engine/run/step_estimate.h"

#include <algorithm>
#include <numeric>

#include <fmt/ranges.h>

#include "engine/graph/passes.h"
#include "engine/observe/formatting.h"
#include "engine/optim/optimizer.h"
#include "engine/run/run_setup.h"
#include "models/model.h"

namespace spire::inline run {
namespace {

constexpr size_t longest = 10;  // ops that are listed

// Names each node's layer by the parameter that the node reads, or whose gradient it makes.
class LayerNames {
 public:
  LayerNames(const Graph& graph, const std::vector<ParameterGradient>& gradients)
      : graph_(graph), parameter_(static_cast<size_t>(graph.value_count())) {
    for (Value parameter : graph.values_of(Role::parameter)) name_after(parameter, parameter);
    for (const auto& [parameter, gradient] : gradients) {
      name_after(gradient, parameter);
      name_addends(gradient, parameter);
    }
  }

  std::string of(const Node& node) const {
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (Value value : *values) {
        const std::string& name = parameter_[static_cast<size_t>(value.id)];
        if (!name.empty()) return name.substr(0, name.rfind('.'));
      }
    }
    return {};
  }

 private:
  // A parameter with several uses has one gradient each, which are added up; the addends belong to
  // the same layer.
  void name_addends(Value gradient, Value parameter) {
    int producer = graph_.tensor(gradient).producer;
    if (producer < 0) return;
    for (Value input : graph_.nodes()[static_cast<size_t>(producer)].inputs) {
      bool addend = graph_.tensor(input).role == Role::activation &&
                    graph_.spec(input) == graph_.spec(gradient);
      if (!addend) continue;
      name_after(input, parameter);
      name_addends(input, parameter);
    }
  }
  void name_after(Value value, Value parameter) {
    parameter_[static_cast<size_t>(value.id)] = graph_.tensor(parameter).name;
  }

  const Graph& graph_;
  std::vector<std::string> parameter_;  // by tensor
};

bool is(std::string_view op, std::string_view family) {
  return op.starts_with(family);
}

double share_of(std::string_view op, const ReachedShares& shares) {
  if (is(op, "conv")) return shares.convolution;
  return is(op, "attention") ? shares.attention : shares.product;
}

// Returns the type that a node computes in: that of its 16-bit tensors, if it has any.
DType compute_type(const Graph& graph, const Node& node) {
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (Value value : *values) {
      if (size_of(graph.spec(value).dtype) == 2) return graph.spec(value).dtype;
    }
  }
  return DType::f32;
}

// Returns the bytes that a node moves. Each tensor counts once, with three exceptions: products
// read parameters in the compute type; an embedding touches as many rows of its table as there are
// tokens; batch norm reads its activations twice.
double bytes_of(const Graph& graph, const Node& node, bool product) {
  int64_t touched = INT64_MAX;  // elements of a table
  if (is(node.op->name(), "embedding")) {
    Value activation = node.backward ? node.inputs[0] : node.outputs[0];
    touched = graph.spec(activation).shape.elements();
  }
  double bytes = 0;
  auto add = [&](Value value, bool read) {
    TensorSpec spec = graph.spec(value);
    if (product && graph.tensor(value).role == Role::parameter)
      spec.dtype = compute_type(graph, node);
    double times = read && is(node.op->name(), "batch_norm") && spec.shape.rank() > 1 ? 2 : 1;
    bytes += times * static_cast<double>(std::min(spec.shape.elements(), touched)) *
             static_cast<double>(size_of(spec.dtype));
  };
  for (Value value : node.inputs) add(value, true);
  for (Value value : node.outputs) add(value, false);
  return bytes;
}

class Estimator {
 public:
  Estimator(const Graph& graph, const std::vector<ParameterGradient>& gradients,
            StepEstimate& estimate)
      : graph_(graph), names_(graph, gradients), estimate_(estimate) {}

  void add(const Node& node) {
    std::string_view op = node.op->name();
    std::vector<TensorSpec> inputs, outputs;
    for (Value value : node.inputs) inputs.push_back(graph_.spec(value));
    for (Value value : node.outputs) outputs.push_back(graph_.spec(value));
    double flops = 2 * static_cast<double>(node.op->multiply_adds(inputs, outputs));
    double bytes = bytes_of(graph_, node, flops > 0);
    const auto& [gpu, shares, ops] = estimate_;
    bool tensor_cores = size_of(compute_type(graph_, node)) == 2;
    double peak = (tensor_cores ? gpu.tensor_tflops : gpu.fp32_tflops) * 1e12;
    double arithmetic = flops / (share_of(op, shares) * peak);
    double launches = is(op, "batch_norm") ? 2 : 1;
    estimate_.ops.push_back(
        {names_.of(node), std::string(op), node.backward, flops, bytes,
         std::max(arithmetic, memory_seconds(bytes)) + launches * shares.launch_seconds});
  }

  // The update reads gradients twice (norm, update), reads and writes weights and slots (4 bytes
  // each), and where `packed` is a 16-bit type reads the weights again and writes 2 bytes.
  void add_update(int64_t slots, DType packed) {
    double parameters = 0;
    for (Value value : graph_.values_of(Role::parameter))
      parameters += static_cast<double>(graph_.spec(value).shape.elements());
    double each = 4 * (2 + 2 + 2 * static_cast<double>(slots));
    if (size_of(packed) == 2) each += 4 + 2;
    double bytes = each * parameters;
    estimate_.ops.push_back({"", "update", true, 0, bytes,
                             memory_seconds(bytes) + 2 * estimate_.shares.launch_seconds});
  }

 private:
  double memory_seconds(double bytes) const {
    return bytes / (estimate_.shares.bandwidth * estimate_.gpu.bandwidth * 1e9);
  }

  const Graph& graph_;
  const LayerNames names_;
  StepEstimate& estimate_;
};

std::string pass_of(const OpEstimate& op) {
  if (op.op == "update") return "update";
  return op.backward ? "backward" : "forward";
}

std::vector<std::string> cells_of(const std::string& first, const std::string& second,
                                  const OpEstimate& op, double step) {
  return {first,
          second,
          fmt::format("{:.3f}", op.flops / 1e12),
          fmt::format("{:.2f}", op.bytes / 1e9),
          fmt::format("{:.2f}", op.seconds * 1e3),
          fmt::format("{:.0f}%", 100 * op.seconds / step)};
}

OpEstimate sum_of(const std::vector<OpEstimate>& ops) {
  return std::accumulate(ops.begin(), ops.end(), OpEstimate{}, [](OpEstimate sum, const auto& op) {
    sum.flops += op.flops;
    sum.bytes += op.bytes;
    sum.seconds += op.seconds;
    return sum;
  });
}

bool longer(const OpEstimate& a, const OpEstimate& b) {
  return a.seconds > b.seconds;
}

// Returns the sum of each kind of op in each pass, the longest first.
std::vector<OpEstimate> by_kind(const std::vector<OpEstimate>& ops) {
  std::vector<OpEstimate> kinds;
  for (const OpEstimate& op : ops) {
    auto known = std::ranges::find_if(kinds, [&](const OpEstimate& kind) {
      return kind.op == op.op && pass_of(kind) == pass_of(op);
    });
    if (known == kinds.end()) {
      kinds.push_back(op);
    } else {
      *known = OpEstimate{"",
                          op.op,
                          op.backward,
                          known->flops + op.flops,
                          known->bytes + op.bytes,
                          known->seconds + op.seconds};
    }
  }
  std::ranges::stable_sort(kinds, longer);
  return kinds;
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
  Estimator estimator(graph, gradients, estimate);
  // Views launch no kernel.
  for (const Node& node : graph.nodes()) {
    if (!node.op->is_view()) estimator.add(node);
  }
  estimator.add_update(slots, packed);
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
  TrainerOptions options = setup.trainer_options();
  // The same passes as in a trainer, in the same order.
  ModelInput input = options.input(setup.placement.batch_size, true);
  Graph graph = build_model(options.model, options.loss, input, true);
  fuse_activations(graph);
  auto gradients = differentiate(graph);
  std::vector<Value> keep;
  for (const auto& [parameter, gradient] : gradients) keep.push_back(gradient);
  remove_dead_nodes(graph, keep);
  if (options.recompute) recompute_blocks(graph);
  auto slots = static_cast<int64_t>(make_optimizer(options.optimizer)->slots().size());
  return estimate_step(graph, gradients, slots, options.precision, described);
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
  for (const OpEstimate& kind : by_kind(ops))
    table.push_back(cells_of(pass_of(kind), kind.op, kind, step.seconds));
  for (const char* pass : {"forward", "backward", "update"}) {
    std::vector<OpEstimate> own;
    std::ranges::copy_if(ops, std::back_inserter(own),
                         [&](const OpEstimate& op) { return pass_of(op) == pass; });
    table.push_back(cells_of(pass, "all", sum_of(own), step.seconds));
  }
  table.push_back(cells_of("step", "all", step, step.seconds));
  std::vector<OpEstimate> sorted = ops;
  std::ranges::stable_sort(sorted, longer);
  sorted.resize(std::min(sorted.size(), longest));
  TextTable tops = {{"longest", "layer", "TFLOP", "GB", "ms", "share"}};
  for (const OpEstimate& op : sorted) tops.push_back(cells_of(op.op, op.layer, op, step.seconds));
  for (const std::string& line : aligned(table)) text += line + "\n";
  text += "\n";
  for (const std::string& line : aligned(tops)) text += line + "\n";
  return text;
}

}  // namespace spire::inline run
