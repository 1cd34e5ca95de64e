// Precision, recall and F1 of a classifier, from the counts of its confusion matrix.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace spire {

// Of one class: tp samples of it are found, out of `actual` that are of it and `predicted` that the
// model takes for it. A score is empty where it would be 0 / 0.
struct ClassScore {
  int64_t tp = 0, actual = 0, predicted = 0;

  std::optional<double> precision() const;  // tp / predicted
  std::optional<double> recall() const;     // tp / actual
  std::optional<double> f1() const;         // 2 tp / (actual + predicted)
};

// counts: (classes, classes), row: the true class, column: the class that the model finds. Throws
// Error(unexpected) for another number of counts.
std::vector<ClassScore> class_scores(std::span<const int64_t> counts, size_t classes);

// Mean of F1 over the classes that have one: those of some sample, or found for some. This is
// scikit-learn's f1_score(average="macro"). Empty without samples. (Micro F1 is the accuracy.)
std::optional<double> f1_macro(std::span<const ClassScore> scores);

}  // namespace spire
