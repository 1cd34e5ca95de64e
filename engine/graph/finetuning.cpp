#include "engine/graph/finetuning.h"

#include <algorithm>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/name_patterns.h"
#include "engine/base/text.h"
#include "engine/graph/passes.h"
#include "kernels/ops/batch_norm/batch_norm.h"

namespace spire {
namespace {

// Running statistics are no parameters, though checkpoints name them beside these.
void refuse_statistics(const Graph& graph, const std::vector<std::string>& patterns,
                       const std::vector<std::string>& parameters) {
  for (const std::string& pattern : patterns) {
    auto matched = [&](const std::string& name) { return matches(pattern, name); };
    if (std::ranges::any_of(parameters, matched)) continue;
    for (Value state : graph.values_of(Role::state)) {
      if (graph.tensor(state).teacher || !matched(graph.tensor(state).name)) continue;
      fail(Category::config,
           "freeze: '{}' matches running statistics only, which follow their batch norm; freeze "
           "its gamma and beta, and freeze_batch_norm: true keeps its statistics as well",
           printable(pattern));
    }
  }
}

void freeze_matches(Graph& graph, const FreezeOptions& options) {
  const std::vector<std::string>& patterns = options.patterns;
  std::vector<Value> parameters = graph.values_of(Role::parameter);
  std::erase_if(parameters, [&](Value value) { return graph.tensor(value).teacher; });
  std::vector<std::string> names;
  for (Value parameter : parameters) names.push_back(graph.tensor(parameter).name);
  refuse_statistics(graph, patterns, names);
  require_matches("freeze", patterns, names);
  size_t trained = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (first_match(patterns, names[i]) && !first_match(options.trained, names[i]))
      graph.freeze(parameters[i]);
    else
      ++trained;
  }
  if (trained == 0)
    fail(Category::config,
         "freeze: the patterns match all {} of the model, so nothing is left to train; leave out "
         "those of the layers to train, or use trainer eval",
         counted(std::ssize(names), "parameter"));
}

// Returns the state that a batch norm updates with one of its outputs.
Value state_of(const Graph& graph, Value contribution) {
  auto update = std::ranges::find(graph.state_updates(), contribution, &StateUpdate::contribution);
  require(update != graph.state_updates().end(), "a batch norm without running statistics");
  return update->state;
}

// Makes a batch norm with frozen parameters use its running statistics. Returns true if it left the
// sums over all towers unread.
bool use_running_statistics(Graph& graph, Node& node) {
  const auto* norm = dynamic_cast<const BatchNormOp*>(node.op.get());
  if (!norm) return false;
  Value gamma = node.inputs[1], beta = node.inputs[2];
  if (!graph.tensor(gamma).frozen || !graph.tensor(beta).frozen) return false;
  require(!norm->attributes().residual, "a batch norm is frozen before it is fused");
  Value mean = state_of(graph, node.outputs[3]), variance = state_of(graph, node.outputs[4]);
  graph.drop_updates_from(node);
  node.inputs = {node.inputs[0], gamma, beta, mean, variance};
  node.outputs.resize(1);
  bool sync = norm->attributes().sync;
  node.op = std::make_shared<BatchNormEvalOp>(norm->attributes());
  return sync;
}

Value input_named(const Graph& graph, const Tensor& wanted) {
  for (Value value : graph.values_of(Role::input)) {
    const Tensor& tensor = graph.tensor(value);
    if (tensor.name == wanted.name && tensor.spec == wanted.spec) return value;
  }
  fail(Category::config, "the teacher reads '{}', {}, which the student's data does not have",
       wanted.name, to_string(wanted.spec));
}

class Graft {
 public:
  Graft(Graph& graph, const Graph& teacher)
      : graph_(graph), teacher_(teacher), values_(static_cast<size_t>(teacher.value_count())) {}

  void run() {
    for (const Node& node : teacher_.nodes()) {
      std::vector<Value> inputs;
      for (Value input : node.inputs) inputs.push_back(here(input));
      std::vector<Value> outputs = graph_.emit(node.op, std::move(inputs));
      for (size_t i = 0; i < outputs.size(); ++i) at(node.outputs[i]) = outputs[i];
    }
  }

  Value here(Value value) {
    Value& known = at(value);
    if (known) return known;
    Tensor tensor = teacher_.tensor(value);
    if (tensor.role == Role::input) return known = input_named(graph_, tensor);
    tensor.name = teacher_prefix + tensor.name;
    return known = graph_.teacher(std::move(tensor));
  }

 private:
  Value& at(Value value) { return values_[static_cast<size_t>(value.id)]; }

  Graph& graph_;
  const Graph& teacher_;
  std::vector<Value> values_;  // by the teacher's tensor: the same in graph_; null: not yet there
};

}  // namespace

void freeze_parameters(Graph& graph, const FreezeOptions& options) {
  if (options.patterns.empty()) return;
  freeze_matches(graph, options);
  if (!options.batch_norm) return;
  bool unread_sums = false;
  for (Node& node : graph.nodes()) unread_sums |= use_running_statistics(graph, node);
  graph.reindex();
  if (unread_sums) remove_dead_nodes(graph);
}

Value graft_teacher(Graph& graph, Graph teacher, const std::string& output) {
  require(!teacher.training(), "a teacher is recorded for evaluation");
  teacher.keep_output(output);
  remove_dead_nodes(teacher);
  Graft graft(graph, teacher);
  graft.run();
  return graft.here(teacher.outputs().at(output));
}

}  // namespace spire
