// Fine-tuning of a recorded graph: parameters that are frozen, and a teacher beside the model.
#pragma once
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace spire {

struct FreezeOptions {
  std::vector<std::string> patterns;  // of names of parameters (engine/base/name_patterns.h)
  // A batch norm with frozen gamma and beta normalizes by its running statistics, in training as in
  // evaluation, and does not update them: all that it computes with is frozen.
  bool batch_norm = true;
  std::vector<std::string> trained = {};  // patterns of parameters that stay trained in any case
};

// Freezes the parameters that match options.patterns: they get no gradient, and training does not
// change them. Backward then ends at the lowest layer that is still trained. Does nothing without
// patterns. Call it before fuse_activations() and differentiate(). Throws Error(config) for a
// pattern that matches no parameter, and if no parameter is left to train.
void freeze_parameters(Graph& graph, const FreezeOptions& options);

inline constexpr const char* teacher_prefix = "teacher.";  // of names of a teacher's tensors

// Appends to `graph` the ops of `teacher`, a graph for evaluation, that compute its output named
// `output`, and returns that output. They read the inputs of `graph` that have the same names. The
// teacher's parameters and states are added by Graph::teacher(), with `teacher_prefix` before their
// names. Throws Error(config) for an input that `graph` lacks or has in another shape.
Value graft_teacher(Graph& graph, Graph teacher, const std::string& output);

}  // namespace spire
