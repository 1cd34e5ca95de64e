#include <algorithm>

#include "engine/graph/passes.h"

namespace spire::inline graph {
namespace {

class Fusion {
 public:
  explicit Fusion(Graph& graph) : graph_(graph) { count_readers(); }

  int run() {
    int before = static_cast<int>(graph_.nodes().size());
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (name_of(n) == "add") fuse_residual(n);
      if (name_of(n) == "relu") fuse_relu(n);
    }
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

  void count_readers() {
    readers_.assign(static_cast<size_t>(graph_.value_count()), 0);
    auto read = [&](Value value) { ++readers_[static_cast<size_t>(value.id)]; };
    for (const Node& node : graph_.nodes())
      std::for_each(node.inputs.begin(), node.inputs.end(), read);
    for (const auto& [name, value] : graph_.outputs()) read(value);
    for (const StateUpdate& update : graph_.state_updates()) read(update.contribution);
  }

  // The node whose output 0 is `value` and is read by nobody else; null when there is none.
  Node* only_producer(Value value) {
    const Tensor& tensor = graph_.tensor(value);
    if (tensor.producer < 0 || tensor.output_index != 0) return nullptr;
    if (readers_[static_cast<size_t>(value.id)] != 1) return nullptr;
    return &graph_.nodes()[static_cast<size_t>(tensor.producer)];
  }

  void fuse_relu(size_t n) {
    Node& relu = graph_.nodes()[n];
    Node* before = only_producer(relu.inputs[0]);
    if (!before || !before->op) return;
    if (auto fused = before->op->with_relu())
      replace(*before, std::move(fused), before->inputs, relu, n);
  }

  // add whose only reader is a relu: relu(op(...) + other), either operand may be the op.
  void fuse_residual(size_t n) {
    Node& add = graph_.nodes()[n];
    if (readers_[static_cast<size_t>(add.outputs[0].id)] != 1) return;
    size_t reader = n + 1;  // model code writes relu(add(...)): the relu follows at once
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

  // `before` with its fused op takes the place of node `at`, which may come later than its other
  // inputs; output 0 becomes `at`'s output.
  void replace(Node& before, std::unique_ptr<Op> fused, std::vector<Value> inputs, Node& at,
               size_t n) {
    // Of two blocks it is in neither: what lies between them is then kept for backward.
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

int fuse_activations(Graph& graph) {
  return Fusion(graph).run();
}

}  // namespace spire::inline graph
