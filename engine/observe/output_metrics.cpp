#include "engine/observe/output_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <spire/error.h>

namespace spire {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

ClassScore total(std::span<const ClassScore> scores) {
  ClassScore sum;
  for (const ClassScore& score : scores) {
    sum.tp += score.tp;
    sum.actual += score.actual;
    sum.predicted += score.predicted;
  }
  return sum;
}

// R2 of every `stride`-th number.
double r2_of_value(std::span<const double> targets, std::span<const double> outputs, size_t first,
                   size_t stride) {
  auto count = static_cast<double>(targets.size() / stride);
  double mean = 0, error = 0, spread = 0;
  for (size_t i = first; i < targets.size(); i += stride) mean += targets[i];
  mean /= count;
  for (size_t i = first; i < targets.size(); i += stride) {
    error += (targets[i] - outputs[i]) * (targets[i] - outputs[i]);
    spread += (targets[i] - mean) * (targets[i] - mean);
  }
  if (spread == 0) return error == 0 ? 1 : 0;
  return 1 - error / spread;
}

}  // namespace

int64_t rank_of(std::span<const float> outputs, int64_t label) {
  int64_t classes = std::ssize(outputs);
  if (label < 0 || label >= classes || std::isnan(outputs[static_cast<size_t>(label)]))
    return classes - 1;
  float own = outputs[static_cast<size_t>(label)];
  int64_t rank = 0;
  for (int64_t c = 0; c < classes; ++c) {
    float other = outputs[static_cast<size_t>(c)];
    rank += other > own || (other == own && c < label) ? 1 : 0;
  }
  return rank;
}

double auc(std::span<const double> scores, const std::vector<bool>& positive) {
  require(scores.size() == positive.size(), "{} scores of {} samples", scores.size(),
          positive.size());
  if (std::ranges::any_of(scores, [](double score) { return std::isnan(score); })) return none;
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return scores[i]; });
  int64_t positives = 0, negatives = 0;
  double pairs_twice = 0;  // twice the pairs in order: whole numbers, exact up to 2^53
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    int64_t tied_positives = 0, tied_negatives = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end)
      ++(positive[order[end]] ? tied_positives : tied_negatives);
    pairs_twice += static_cast<double>(tied_positives * (2 * negatives + tied_negatives));
    positives += tied_positives;
    negatives += tied_negatives;
  }
  if (positives == 0 || negatives == 0) return none;
  return pairs_twice / 2 / static_cast<double>(positives) / static_cast<double>(negatives);
}

double f1_micro(std::span<const ClassScore> scores) {
  return total(scores).f1().value_or(0);
}

double f1_macro_of_labels(std::span<const ClassScore> scores) {
  double sum = 0;
  for (const ClassScore& score : scores) sum += score.f1().value_or(0);
  return sum / static_cast<double>(scores.size());
}

double r2(std::span<const double> targets, std::span<const double> outputs, size_t values) {
  double sum = 0;
  for (size_t v = 0; v < values; ++v) sum += r2_of_value(targets, outputs, v, values);
  return sum / static_cast<double>(values);
}

double mean_absolute_error(std::span<const double> targets, std::span<const double> outputs) {
  double sum = 0;
  for (size_t i = 0; i < targets.size(); ++i) sum += std::abs(targets[i] - outputs[i]);
  return sum / static_cast<double>(targets.size());
}

}  // namespace spire
