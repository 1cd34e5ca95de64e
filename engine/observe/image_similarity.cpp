#include "engine/observe/image_similarity.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace spire {
namespace {

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

double ssim(std::span<const float> a, std::span<const float> b, int64_t height, int64_t width,
            int64_t channels) {
  if (height < ssim_window || width < ssim_window) return std::numeric_limits<double>::quiet_NaN();
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
