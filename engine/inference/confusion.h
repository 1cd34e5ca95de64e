// Counts of what a classifier finds in a dataset, by true class.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/inference/predictor.h"

namespace spire::inline inference {

// Returns (classes, classes) counts: row: the true class, column: the class with the largest
// output. stop: ends it with Error(interrupted); null: nothing does. REQUIRES: the predictor's task
// is Task::classify, and the data's first column is the model's. Throws Error(data).
std::vector<int64_t> confusion_counts(Predictor& predictor, const Dataset& data, int64_t batch,
                                      const std::atomic<bool>* stop = nullptr);

}  // namespace spire::inline inference
