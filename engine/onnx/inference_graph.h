// What exports of a trained model read: its graph, and the choice of its weights.
#pragma once
#include <optional>

#include <spire/run_config.h>

#include "engine/checkpoint/training_state.h"
#include "engine/data/sample.h"
#include "engine/graph/graph.h"

namespace spire {

// Returns the model's graph in inference, before any pass, in fp32 whatever the run computed in.
Graph inference_graph(const RunConfig& config, const SampleSpec& spec, int64_t batch);

// Returns whether the averaged weights are to be written. asked: averaged or not; none: averaged if
// there are any. Throws Error(checkpoint) if they are asked for and there are none.
bool takes_average(const SavedTensors& saved, std::optional<bool> asked);

}  // namespace spire
