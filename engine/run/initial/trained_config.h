// What a checkpoint's model computes that no tensor shows, compared with a new run that begins with
// its weights.
#pragma once
#include <spire/observer.h>

#include "engine/checkpoint/training_state.h"
#include "engine/run/run_setup.h"
#include "engine/weights/weight_match.h"

namespace spire {

// Compares heads, epsilon, model.upsample, model.output_activation and the layers of model.layers
// (but widths, starts and dropout). A difference is an Error(checkpoint) with the key and both
// values; without init.strict it is a warning, and so are layers where init.skip leaves some out.
// Other normalization of the data (data.mean, data.stddev) is a warning. from: for messages. own:
// the run's graph, for evaluation. Warns if the checkpoint's config cannot be read.
void check_trained_config(const StateMetadata& trained, const std::string& from,
                          const RunSetup& setup, const Graph& own, Observer& observer);

// Whether data was scaled by other means or deviations.
bool other_normalization(const Normalization& a, const Normalization& b);

// Warns where the checkpoint has as many classes, columns or tokens as the data, under other names:
// says whether the layer that has them takes the file's weights, or starts anew. match: of the
// file.
void check_trained_names(const StateMetadata& trained, const WeightMatch& match,
                         const RunSetup& setup, const Graph& own, Observer& observer);

}  // namespace spire
