#include "engine/graph/graft.h"

#include <utility>

#include <spire/error.h>

#include "engine/graph/passes.h"

namespace spire {
namespace {

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

Value graft_teacher(Graph& graph, Graph teacher, const std::string& output) {
  require(!teacher.training(), "a teacher is recorded for evaluation");
  teacher.keep_output(output);
  remove_dead_nodes(teacher);
  Graft graft(graph, teacher);
  graft.run();
  return graft.here(teacher.outputs().at(output));
}

}  // namespace spire
