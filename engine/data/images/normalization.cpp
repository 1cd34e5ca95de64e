#include "engine/data/images/normalization.h"

#include <algorithm>
#include <cmath>

#include <spire/error.h>

namespace spire::inline data {

void PixelHistogram::add(std::span<const uint8_t> pixels) {
  if (counts_.size() == 1) {
    for (uint8_t pixel : pixels) ++counts_[0][pixel];
    return;
  }
  for (size_t i = 0; i < pixels.size(); ++i) ++counts_[i % counts_.size()][pixels[i]];
}

Normalization PixelHistogram::normalization(const std::string& what) const {
  Normalization result;
  for (size_t c = 0; c < counts_.size(); ++c) {
    const std::array<int64_t, 256>& histogram = counts_[c];
    double n = 0, sum = 0, squares = 0;
    for (size_t v = 0; v < 256; ++v) {
      n += static_cast<double>(histogram[v]);
      sum += static_cast<double>(histogram[v]) * static_cast<double>(v);
    }
    for (size_t v = 0; v < 256; ++v) {
      double from_mean = static_cast<double>(v) - sum / n;
      squares += static_cast<double>(histogram[v]) * from_mean * from_mean;
    }
    if (std::count(histogram.begin(), histogram.end(), 0) >= 255)
      fail(Category::data,
           "{}: all pixels of channel {} are {}, so it cannot be normalized; set data.normalize: "
           "unit",
           what, c, sum / n);
    result.mean.push_back(sum / n / 255.0);
    result.stddev.push_back(std::sqrt(squares / n) / 255.0);
  }
  return result;
}

Normalization configured_normalization(const DataConfig& config, int64_t channels) {
  auto count = static_cast<size_t>(channels);
  if (config.normalize == DataConfig::Normalize::unit)
    return {std::vector(count, 0.0), std::vector(count, 1.0)};
  if (config.mean.empty() && config.stddev.empty()) return {};
  if (config.mean.size() != count || config.stddev.size() != count)
    fail(Category::config,
         "data.mean, data.stddev: got {} and {} numbers for {} channels; give {} of each",
         config.mean.size(), config.stddev.size(), channels, channels);
  return {config.mean, config.stddev};
}

}  // namespace spire::inline data
