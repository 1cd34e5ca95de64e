// Models of Python: a function that adds layers to a graph.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include <spire/model.h>

#include "engine/base/fail.h"
#include "python/core/bindings.h"

namespace spire::python {

nb::tuple tuple_of(const Shape& shape);

// A graph that Python may use while the function of a model runs. After take_back() every use
// throws Error(config).
class LentGraph {
 public:
  explicit LentGraph(Graph& graph) : graph_(&graph) {}
  void take_back() { graph_ = nullptr; }
  Graph& get() const {
    if (!graph_)
      fail(Category::config,
           "a graph, its inputs and values are used only in the model's function");
    return *graph_;
  }

 private:
  Graph* graph_;
};

// A tensor of a graph.
struct LentValue {
  std::shared_ptr<LentGraph> graph;
  Value value;

  const TensorSpec& spec() const { return graph->get().spec(value); }
  // Throws Error(config) if it is a tensor of another graph.
  Value value_in(const LentGraph& other) const {
    if (&graph->get() != &other.get()) fail(Category::config, "a value of another graph");
    return value;
  }
};

class LentInputs {
 public:
  LentInputs(std::shared_ptr<LentGraph> graph, const ModelInputs& inputs)
      : graph_(std::move(graph)), inputs_(&inputs) {}

  const ModelInputs& get() const { return graph_->get(), *inputs_; }
  LentValue first() const { return {graph_, get().first()}; }
  LentValue column(const std::string& name) const { return {graph_, get()[name]}; }
  bool has(const std::string& name) const { return get().find(name).id >= 0; }

 private:
  std::shared_ptr<LentGraph> graph_;
  const ModelInputs* inputs_;
};

// What a Model object of Python holds.
struct PythonModel {
  PythonModel(nb::callable adds_layers, std::optional<nb::callable> adds_loss,
              std::string metric_name, std::string model_name)
      : layers(std::move(adds_layers)),
        loss(std::move(adds_loss)),
        metric(std::move(metric_name)),
        name(std::move(model_name)) {}

  nb::callable layers;
  std::optional<nb::callable> loss;
  std::string metric;
  std::string name;
};

// Returns the engine's form of `model`, which must outlive it. `errors` keeps what functions of
// Python raise.
std::shared_ptr<const Model> model_of(const PythonModel& model,
                                      const std::shared_ptr<PythonError>& errors);

}  // namespace spire::python
