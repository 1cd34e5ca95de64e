// What a classifier finds in a dataset: counts by true class, and the answers that are most wrong.
#pragma once
#include <atomic>
#include <cstdint>

#include "engine/data/dataset.h"
#include "engine/inference/predictor.h"
#include "tools/report/run_report.h"

namespace spire {

// Returns counts and most_wrong of the matrix, without names. stop: ends it with
// Error(interrupted); null: nothing does. REQUIRES: the predictor's task is Task::classify, and the
// data's first column is the model's. Throws Error(data).
ConfusionMatrix confusion_of(Predictor& predictor, const Dataset& data, int64_t batch,
                             const std::atomic<bool>* stop = nullptr);

}  // namespace spire
