// Reverse-mode differentiation: walks the forward nodes from the last to the first.
#include <algorithm>
#include <utility>

#include "engine/base/fail.h"
#include "engine/graph/graph.h"
#include "kernels/ops/elementwise/elementwise.h"

namespace spire {
namespace {

// Gradients of all tensors so far, and the builder by which an op appends its gradient.
class Backward final : public GradientBuilder {
 public:
  explicit Backward(Graph& graph) : graph_(graph), forward_count_(graph.value_count()) {
    gradients_.resize(static_cast<size_t>(forward_count_));
    mark_dependents();
  }

  void visit(int node) {
    node_ = node;
    graph_.nodes()[static_cast<size_t>(node)].op->gradient(*this);
  }

  // Returns true if the node is on a path from a trained parameter to a loss. Other nodes get no
  // gradient.
  bool matters(int node) const {
    const Node& n = graph_.nodes()[static_cast<size_t>(node)];
    bool reached = false, wanted = false;
    for (Value output : n.outputs) reached |= is_loss(output) || bool(gradient(output));
    for (Value input : n.inputs) wanted |= depends(input);
    return reached && wanted;
  }

  Value gradient(Value value) const { return gradients_[static_cast<size_t>(value.id)]; }

  Value input(int index) const override { return current().inputs[static_cast<size_t>(index)]; }
  Value output(int index) const override { return current().outputs[static_cast<size_t>(index)]; }
  Value output_gradient(int index) const override { return gradient(output(index)); }
  std::vector<Value> gradient_terms(int index) const override {
    Value sum = output_gradient(index);
    int node = sum ? graph_.tensor(sum).producer : -1;
    if (node < 0) return {sum};
    const Node& maker = graph_.nodes()[static_cast<size_t>(node)];
    auto* add = dynamic_cast<const AddOp*>(maker.op.get());
    return add && !add->relu() ? maker.inputs : std::vector{sum};
  }
  bool wants_gradient(int index) const override { return depends(input(index)); }
  const TensorSpec& spec(Value value) const override { return graph_.spec(value); }
  std::vector<Value> emit(std::unique_ptr<Op> op, std::vector<Value> inputs) override {
    return graph_.emit(std::move(op), std::move(inputs));
  }
  // A second gradient of a tensor is added to the first.
  void set_gradient(int index, Value gradient) override {
    Value& sum = gradients_[static_cast<size_t>(input(index).id)];
    sum = sum ? graph_.emit_op<AddOp>({sum, gradient})[0] : gradient;
  }

  Value take_gradient(int index) override {
    return std::exchange(gradients_[static_cast<size_t>(input(index).id)], Value{});
  }

 private:
  const Node& current() const { return graph_.nodes()[static_cast<size_t>(node_)]; }
  bool is_loss(Value value) const {
    for (Value loss : graph_.losses()) {
      if (loss == value) return true;
    }
    return false;
  }
  bool depends(Value value) const {
    return value.id < forward_count_ && depends_[static_cast<size_t>(value.id)];
  }

  // Marks trained parameters and all that is computed from them: these tensors need gradients.
  void mark_dependents() {
    depends_.assign(static_cast<size_t>(forward_count_), false);
    for (Value value : graph_.values_of(Role::parameter))
      depends_[static_cast<size_t>(value.id)] = !graph_.tensor(value).frozen;
    for (const Node& node : graph_.nodes()) {
      bool any = false;
      for (Value input : node.inputs) any |= depends(input);
      for (Value output : node.outputs) depends_[static_cast<size_t>(output.id)] = any;
    }
  }

  Graph& graph_;
  const int forward_count_;
  int node_ = 0;
  std::vector<Value> gradients_;  // by forward tensor; null: none yet
  std::vector<bool> depends_;     // by forward tensor: computed from a trained parameter
};

}  // namespace

std::vector<ParameterGradient> differentiate(Graph& graph) {
  require(!graph.losses().empty(), "the graph has no loss to differentiate");
  int forward_nodes = static_cast<int>(graph.nodes().size());
  Backward backward(graph);
  // Nodes are in topological order: when one is visited, all readers of its outputs were.
  for (int node = forward_nodes - 1; node >= 0; --node) {
    if (backward.matters(node)) backward.visit(node);
  }
  for (size_t node = static_cast<size_t>(forward_nodes); node < graph.nodes().size(); ++node)
    graph.nodes()[node].backward = true;
  std::vector<ParameterGradient> gradients;
  for (Value parameter : graph.values_of(Role::parameter)) {
    if (graph.tensor(parameter).frozen) continue;
    Value gradient = backward.gradient(parameter);
    if (!gradient) {
      fail(Category::config, "parameter '{}' has no influence on the loss; remove its layer",
           graph.tensor(parameter).name);
    }
    gradients.push_back({parameter, gradient});
  }
  // Order of completion, so that a prefix of the gradient buffer can be reduced during backward.
  std::stable_sort(gradients.begin(), gradients.end(), [&](const auto& a, const auto& b) {
    return graph.tensor(a.gradient).producer < graph.tensor(b.gradient).producer;
  });
  return gradients;
}

}  // namespace spire
