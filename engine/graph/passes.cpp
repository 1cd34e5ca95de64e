// Passes that fuse, remove or pad single nodes (exact_ops.cpp, recompute.cpp: the other passes).
#include "engine/graph/passes.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/kernel.h"

namespace spire {

namespace {

// Fuses (Op::with_relu, Op::with_residual), where nothing else reads the tensors
// between. A fused-away node has no op until the end, so positions stay valid.
class Fusion {
 public:
  explicit Fusion(Graph& graph) : graph_(graph) { count_readers(); }

  int run() {
    int before = static_cast<int>(graph_.nodes().size());
    for_each("add", [&](size_t n) { fuse_residual(n); });
    for_each("max_pool2d", [&](size_t n) { move_before_relu(n); });
    for_each("relu", [&](size_t n) { fuse_relu(n); });
    auto& nodes = graph_.nodes();
    std::erase_if(nodes, [](const Node& node) { return !node.op; });
    graph_.reindex();
    graph_.number_nodes();
    return before - static_cast<int>(nodes.size());
  }

 private:
  std::string_view name_of(size_t n) const {
    return graph_.nodes()[n].op ? graph_.nodes()[n].op->name() : std::string_view{};
  }

  template <typename Body>
  void for_each(std::string_view name, const Body& body) {
    for (size_t n = 0; n < graph_.nodes().size(); ++n)
      if (name_of(n) == name) body(n);
  }

  void count_readers() {
    readers_.assign(static_cast<size_t>(graph_.value_count()), 0);
    auto read = [&](Value value) { ++readers_[static_cast<size_t>(value.id)]; };
    for (const Node& node : graph_.nodes())
      if (node.op) std::for_each(node.inputs.begin(), node.inputs.end(), read);
    for (const auto& [name, value] : graph_.outputs()) read(value);
    for (const StateUpdate& update : graph_.state_updates()) read(update.contribution);
  }

  // Returns the node whose output 0 is `value`, if nothing else reads it; null otherwise.
  Node* only_producer(Value value) {
    const Tensor& tensor = graph_.tensor(value);
    if (tensor.producer < 0 || tensor.output_index != 0) return nullptr;
    if (readers_[static_cast<size_t>(value.id)] != 1) return nullptr;
    return &graph_.nodes()[static_cast<size_t>(tensor.producer)];
  }

  // max_pool2d(relu(x)) becomes relu(max_pool2d(x)), which is the same, to the bits of gradients:
  // the relu and its gradient have fewer elements, and backward does not read the large tensor.
  void move_before_relu(size_t n) {
    Node& after = graph_.nodes()[n];
    Node* before = only_producer(after.inputs[0]);
    if (!before || !before->op || before->op->name() != "relu") return;
    if (before->block != after.block) return;
    for (size_t i = 1; i < after.outputs.size(); ++i)  // which element was the maximum
      if (readers_[static_cast<size_t>(after.outputs[i].id)] > 0) return;
    Node pool = graph_.repetition(after, before->inputs);
    pool.id = before->id;  // ids ascend with positions
    pool.block = before->block;
    pool.backward = false;
    Node relu{before->op, {pool.outputs[0]}, {after.outputs[0]}, after.id, after.block};
    readers_.resize(static_cast<size_t>(graph_.value_count()), 0);
    readers_[static_cast<size_t>(pool.outputs[0].id)] = 1;  // the relu
    *before = std::move(pool);
    after = std::move(relu);
    graph_.reindex();
  }

  void fuse_relu(size_t n) {
    Node& relu = graph_.nodes()[n];
    Node* before = only_producer(relu.inputs[0]);
    if (!before || !before->op) return;
    if (auto fused = before->op->with_relu())
      replace(*before, std::move(fused), before->inputs, relu, n);
  }

  // Fuses relu(op(...) + other), where the relu is the only reader of the sum; either operand of
  // the addition may be the op.
  void fuse_residual(size_t n) {
    Node& add = graph_.nodes()[n];
    if (readers_[static_cast<size_t>(add.outputs[0].id)] != 1) return;
    size_t reader = n + 1;  // layers record relu(add(..)) in direct succession
    if (reader >= graph_.nodes().size() || name_of(reader) != "relu") return;
    Node& relu = graph_.nodes()[reader];
    if (relu.inputs[0] != add.outputs[0]) return;
    for (size_t operand : {size_t{0}, size_t{1}}) {
      Node* before = only_producer(add.inputs[operand]);
      Value other = add.inputs[1 - operand];
      if (!before || !before->op) continue;
      auto fused = before->op->with_residual();
      if (!fused) continue;
      auto inputs = before->inputs;
      inputs.push_back(other);
      replace(*before, std::move(fused), inputs, relu, reader);
      add.op.reset();
      return;
    }
  }

  // Moves `before`, with its fused op, to the position of node `at`: all inputs are ready there.
  // Its output 0 becomes that of `at`.
  void replace(Node& before, std::unique_ptr<Op> fused, std::vector<Value> inputs, Node& at,
               size_t n) {
    // A node fused across the edge of a block belongs to no block, so its output is stored.
    int block = before.block == at.block ? at.block : -1;
    Node node{std::move(fused), std::move(inputs), before.outputs, at.id, block};
    node.outputs[0] = at.outputs[0];
    before.op.reset();
    graph_.nodes()[n] = std::move(node);
    graph_.reindex();
  }

  Graph& graph_;
  std::vector<int> readers_;
};

}  // namespace

int remove_dead_nodes(Graph& graph, std::span<const Value> also) {
  std::vector<bool> live(static_cast<size_t>(graph.value_count()), false);
  auto keep = [&](Value value) { live[static_cast<size_t>(value.id)] = true; };
  for (const auto& [name, value] : graph.outputs()) keep(value);
  for (Value loss : graph.losses()) keep(loss);
  for (const StateUpdate& update : graph.state_updates()) keep(update.contribution);
  for (Value value : also) keep(value);

  // From the end: a node is needed if a needed node or a kept tensor reads one of its outputs.
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

int fuse_activations(Graph& graph) {
  return Fusion(graph).run();
}

namespace {

// Matrices from this width on are padded to this multiple of elements, where their rows are no
// multiples of 16 bytes: such as logits over GPT-2's 50257 tokens.
constexpr int64_t min_width = 1024, multiple = 128;
constexpr int64_t aligned_bytes = 16;

// Returns the row pitch to pad to; 0 where no padding is needed.
int64_t padded_width(const TensorSpec& spec) {
  if (spec.shape.rank() < 2 || size_of(spec.dtype) != 2) return 0;
  int64_t width = spec.shape.back();
  if (width < min_width || width * 2 % aligned_bytes == 0) return 0;
  return (width + multiple - 1) / multiple * multiple;
}

// Pads matrices where all kernels that touch them support padded rows (KernelEntry::padded_rows; no
// CPU kernel does). A matrix and all its views get one pitch, or none of them does. Inputs and
// parameters are never padded.
class RowPadding {
 public:
  RowPadding(Graph& graph, DeviceId device) : graph_(graph), device_(device) {
    readers_.resize(static_cast<size_t>(graph.value_count()));
    for (const Node& node : graph.nodes()) {
      for (size_t i = 0; i < node.inputs.size(); ++i)
        readers_[static_cast<size_t>(node.inputs[i].id)].push_back({&node, static_cast<int>(i)});
    }
  }

  int run() {
    int padded = 0;
    for (const Node& node : graph_.nodes()) padded += pad(node);
    return padded;
  }

 private:
  struct Reader {
    const Node* node;
    int input;
  };

  bool pad(const Node& node) {
    int64_t pitch = padded_width(graph_.spec(node.outputs[0]));
    if (pitch == 0 || node.op->is_view()) return false;
    if (!padded_rows(*node.op, device_).output) return false;
    std::vector<Value> same;
    if (!all_take_padding(node.outputs[0], same)) return false;
    for (Value value : same) graph_.set_row_pitch(value, pitch);
    return true;
  }

  // Returns true if all readers of the tensor and of its views support padding; appends them to
  // `same`.
  bool all_take_padding(Value value, std::vector<Value>& same) const {
    same.push_back(value);
    if (graph_.spec(value).shape.back() != graph_.spec(same[0]).shape.back()) return false;
    for (auto [node, input] : readers_[static_cast<size_t>(value.id)]) {
      bool takes = node->op->is_view() ? all_take_padding(node->outputs[0], same)
                                       : padded_rows(*node->op, device_).input == input;
      if (!takes) return false;
    }
    return true;
  }

  Graph& graph_;
  const DeviceId device_;
  std::vector<std::vector<Reader>> readers_;  // by tensor
};

}  // namespace

int pad_rows(Graph& graph, DeviceId device) {
  return RowPadding(graph, device).run();
}

}  // namespace spire
