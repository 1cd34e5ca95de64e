// The mean and deviation that numbers are normalized by: of the pixels, of the config, or of a
// file.
#pragma once
#include <array>
#include <span>

#include <spire/run_config.h>

#include "engine/data/sample.h"

namespace spire::inline data {

// How often each value occurs in each channel.
class PixelHistogram {
 public:
  explicit PixelHistogram(int64_t channels) : counts_(static_cast<size_t>(channels)) {}

  void add(std::span<const uint8_t> pixels);  // (..., C)
  // Mean and population standard deviation of pixel / 255, in fp64: exact up to the last rounding,
  // and independent of the pixels' order. Throws Error(data), which `what` begins, for a channel
  // of one value.
  Normalization normalization(const std::string& what) const;

 private:
  std::vector<std::array<int64_t, 256>> counts_;
};

// What the config asks for: data.normalize unit, or data.mean and data.stddev, each of `channels`
// numbers. Empty when it leaves the matter to the dataset. Error(config) for a wrong count.
Normalization configured_normalization(const DataConfig& config, int64_t channels);

}  // namespace spire::inline data
