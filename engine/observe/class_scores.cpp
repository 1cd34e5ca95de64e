#include "engine/observe/class_scores.h"

#include <spire/error.h>

namespace spire {
namespace {

std::optional<double> ratio(int64_t part, int64_t whole) {
  if (whole == 0) return {};
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::optional<double> ClassScore::precision() const {
  return ratio(tp, predicted);
}

std::optional<double> ClassScore::recall() const {
  return ratio(tp, actual);
}

std::optional<double> ClassScore::f1() const {
  return ratio(2 * tp, actual + predicted);
}

std::vector<ClassScore> class_scores(std::span<const int64_t> counts, size_t classes) {
  require(counts.size() == classes * classes, "{} counts for {} classes", counts.size(), classes);
  std::vector<ClassScore> scores(classes);
  for (size_t row = 0; row < classes; ++row) {
    for (size_t column = 0; column < classes; ++column) {
      int64_t count = counts[row * classes + column];
      scores[row].actual += count;
      scores[column].predicted += count;
      if (row == column) scores[row].tp = count;
    }
  }
  return scores;
}

std::optional<double> f1_macro(std::span<const ClassScore> scores) {
  double sum = 0;
  int64_t classes = 0;
  for (const ClassScore& score : scores) {
    auto f1 = score.f1();
    if (!f1) continue;
    sum += *f1;
    ++classes;
  }
  if (classes == 0) return {};
  return sum / static_cast<double>(classes);
}

}  // namespace spire
