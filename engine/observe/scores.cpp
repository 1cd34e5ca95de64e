#include "engine/observe/scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/base/fail.h"

namespace spire {
namespace {

std::optional<double> ratio(int64_t part, int64_t whole) {
  if (whole == 0) return {};
  return static_cast<double>(part) / static_cast<double>(whole);
}

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

constexpr size_t taps = static_cast<size_t>(ssim_window);

// The weights of a window along one axis.
std::array<double, taps> gaussian() {
  constexpr double deviation = 1.5;
  std::array<double, taps> weights{};
  double sum = 0;
  for (size_t i = 0; i < taps; ++i) {
    double x = static_cast<double>(i) - static_cast<double>(taps / 2);
    sum += weights[i] = std::exp(-x * x / (2 * deviation * deviation));
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

// Weighted means of a window: of a, b, a^2, b^2 and ab.
using Moments = std::array<double, 5>;

Moments products(double a, double b) {
  return {a, b, a * a, b * b, a * b};
}

void add(Moments& sums, double weight, const Moments& more) {
  for (size_t m = 0; m < sums.size(); ++m) sums[m] += weight * more[m];
}

double similarity(const Moments& of) {
  constexpr double c1 = 0.01 * 0.01, c2 = 0.03 * 0.03;
  auto [a, b, aa, bb, ab] = of;
  double luminance = (2 * a * b + c1) / (a * a + b * b + c1);
  return luminance * (2 * (ab - a * b) + c2) / (aa - a * a + bb - b * b + c2);
}

// Sum of the similarity of all windows of one channel. The weights are a product of those along y
// and x, so each row is summed once along x, and rows of sums then along y. rows: memory for them.
double sum_of_windows(std::span<const float> a, std::span<const float> b, size_t height,
                      size_t width, size_t channels, size_t channel, std::vector<Moments>& rows) {
  static const std::array<double, taps> weights = gaussian();
  size_t windows = width - taps + 1;
  rows.assign(height * windows, Moments{});
  for (size_t y = 0; y < height; ++y)
    for (size_t x = 0; x < windows; ++x)
      for (size_t i = 0; i < taps; ++i) {
        size_t at = (y * width + x + i) * channels + channel;
        add(rows[y * windows + x], weights[i], products(double{a[at]}, double{b[at]}));
      }
  double sum = 0;
  for (size_t y = 0; y + taps <= height; ++y)
    for (size_t x = 0; x < windows; ++x) {
      Moments window{};
      for (size_t i = 0; i < taps; ++i) add(window, weights[i], rows[(y + i) * windows + x]);
      sum += similarity(window);
    }
  return sum;
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

void count_pixels(std::span<const int32_t> mask, std::span<const float> logits,
                  std::span<ClassScore> counts) {
  for (size_t pixel = 0; pixel < mask.size(); ++pixel) {
    if (mask[pixel] < 0) continue;
    auto own = logits.subspan(pixel * counts.size(), counts.size());
    auto actual = static_cast<size_t>(mask[pixel]);
    auto found = static_cast<size_t>(std::ranges::max_element(own) - own.begin());
    ++counts[actual].actual;
    ++counts[found].predicted;
    if (actual == found) ++counts[actual].tp;
  }
}

std::optional<double> mean_iou(std::span<const ClassScore> counts) {
  double sum = 0;
  int64_t classes = 0;
  for (const ClassScore& of : counts) {
    int64_t either = of.actual + of.predicted - of.tp;
    if (either == 0) continue;
    sum += static_cast<double>(of.tp) / static_cast<double>(either);
    ++classes;
  }
  if (classes == 0) return {};
  return sum / static_cast<double>(classes);
}

std::optional<double> pixel_accuracy(std::span<const ClassScore> counts) {
  int64_t found = 0, all = 0;
  for (const ClassScore& of : counts) {
    found += of.tp;
    all += of.actual;
  }
  if (all == 0) return {};
  return static_cast<double>(found) / static_cast<double>(all);
}

double ssim(std::span<const float> a, std::span<const float> b, int64_t height, int64_t width,
            int64_t channels) {
  if (height < ssim_window || width < ssim_window) return none;
  auto c = static_cast<size_t>(channels);
  std::vector<Moments> rows;
  double sum = 0;
  for (size_t channel = 0; channel < c; ++channel)
    sum += sum_of_windows(a, b, static_cast<size_t>(height), static_cast<size_t>(width), c, channel,
                          rows);
  return sum /
         static_cast<double>((height - ssim_window + 1) * (width - ssim_window + 1) * channels);
}

}  // namespace spire
