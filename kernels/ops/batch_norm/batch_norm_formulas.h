// What a channel's sums make in batch normalization, for host and device: the statistics of the
// forward, and of the backward the gradients and the map from (g, x) to dx.
#pragma once
#include <cmath>

#include "engine/base/host_device.h"

namespace spire::inline kernels {

// Where the backward learns if the relu was open: there is none, from x anew, from the output.
enum class ReluMask { none, from_x, from_y };

// The mask of the pass that writes dx: with the output at hand the first pass has written g.
constexpr ReluMask second_mask(ReluMask first) {
  return first == ReluMask::from_y ? ReluMask::none : first;
}

struct ChannelStatistics {
  float mean, inv_std, stat_mean, stat_var;  // as of BatchNormOp
};

// From sum = sum x and squares = sum x^2 over `rows` rows.
SPIRE_HOST_DEVICE inline ChannelStatistics channel_statistics(double sum, double squares,
                                                              double rows, float epsilon,
                                                              float tower_weight) {
  double n = rows > 1 ? rows : 1;
  double unbias = n > 1 ? n / (n - 1) : 1;
  double weight = static_cast<double>(tower_weight);
  double mean = sum / n;
  double var = squares / n - mean * mean;
  if (var < 0) var = 0;  // by rounding; a NaN stays
  return {.mean = static_cast<float>(mean),
          .inv_std = static_cast<float>(1 / std::sqrt(var + static_cast<double>(epsilon))),
          .stat_mean = static_cast<float>(weight * mean),
          .stat_var = static_cast<float>(weight * var * unbias)};
}

struct ChannelGradients {
  double dbeta, dgamma;
};

// From sum_g = sum g and sum_gd = sum g (x - mean).
SPIRE_HOST_DEVICE inline ChannelGradients channel_gradients(double sum_g, double sum_gd,
                                                            float inv_std) {
  return {.dbeta = sum_g, .dgamma = sum_gd * static_cast<double>(inv_std)};
}

// dx = scale g + slope (x - mean) + offset, with scale = gamma inv_std.
struct DxMap {
  float slope, offset;
};

// From gradients over all n rows.
SPIRE_HOST_DEVICE inline DxMap dx_map(float scale, float inv_std, ChannelGradients gradients,
                                      double n) {
  double a = static_cast<double>(scale) / n;
  return {.slope = static_cast<float>(-a * gradients.dgamma * static_cast<double>(inv_std)),
          .offset = static_cast<float>(-a * gradients.dbeta)};
}

}  // namespace spire::inline kernels
