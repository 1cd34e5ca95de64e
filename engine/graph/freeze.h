// Freezes parameters of a recorded graph: they get no gradient, and training leaves them as they
// are. Fine-tuning trains the rest of a model, from whose lowest layer backward reaches no further.
#pragma once
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace spire {

struct FreezeOptions {
  std::vector<std::string> patterns;  // of names of parameters (engine/base/name_patterns.h)
  // A batch norm with frozen gamma and beta normalizes by its running statistics, in training as in
  // evaluation, and leaves them as they are: all that it computes with is frozen.
  bool batch_norm = true;
  std::vector<std::string> trained = {};  // patterns of parameters that stay trained in any case
};

// Call it before fuse_activations() and differentiate(). Throws Error(config) for a pattern that
// matches no parameter, and if no parameter is left to train.
void freeze_parameters(Graph& graph, const FreezeOptions& options);

}  // namespace spire
