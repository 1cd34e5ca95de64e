// A trained model from whose outputs another one learns: distillation (Hinton, Vinyals, Dean,
// "Distilling the Knowledge in a Neural Network", 2015).
#pragma once
#include <functional>
#include <string>

#include <spire/run_config.h>

#include "engine/graph/graph.h"
#include "models/model.h"

namespace spire {

struct Teacher {
  ModelConfig model;
  DistillConfig config;  // temperature and weight
  // Returns an initializer that writes the teacher's values of one parameter or statistic. Throws
  // Error(config) if the teacher has none of that name and shape. Several threads may call the
  // initializers.
  std::function<Initializer(const std::string& name, const Shape& shape)> values;
};

// Records the teacher's evaluation on the graph's own inputs, with frozen weights, and returns its
// logits. input: of the student. Throws Error(config) for a task or loss without logits of classes
// (LossConfig::Name mse, l1, ..), and what build_model() throws for the teacher's config.
Value teach(Graph& graph, const Teacher& teacher, const LossConfig& loss, Task task,
            const ModelInput& input);

}  // namespace spire
