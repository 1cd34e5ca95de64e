// Metrics of a model's outputs for all samples of an evaluation. Sums are fp64 in the order of the
// samples and counts are integers, so equal outputs give equal bits however they were computed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/observe/class_scores.h"

namespace spire {

// Returns the place of `label` among the outputs: how many are larger, or as large and before it. A
// label out of range, or whose output is NaN, has the last place.
int64_t rank_of(std::span<const float> outputs, int64_t label);

// Area under the ROC curve: the share of pairs of a positive and a negative sample in which the
// positive one has the larger score; equal scores count half (Mann and Whitney, 1947). Exact: from
// the ranks of all scores. NaN without positive or negative samples, or if a score is NaN.
double auc(std::span<const double> scores, const std::vector<bool>& positive);

// F1 of all decisions together: 2 tp / (actual + predicted), each summed over the classes; 0 where
// that is 0 / 0.
double f1_micro(std::span<const ClassScore> scores);
// Mean of F1 over all classes, 0 for one without samples and decisions: for labels that may be none
// or several (scikit-learn's f1_score of indicators).
double f1_macro_of_labels(std::span<const ClassScore> scores);

// targets, outputs: (samples, values). Mean over the values of 1 - sum (t - o)^2 / sum (t -
// mean)^2; a value whose targets are all equal counts 1 if it is always met, else 0.
double r2(std::span<const double> targets, std::span<const double> outputs, size_t values);
double mean_absolute_error(std::span<const double> targets, std::span<const double> outputs);

}  // namespace spire
