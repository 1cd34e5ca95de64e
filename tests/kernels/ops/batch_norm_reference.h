// Batch normalization in float64, for the tests of its ops.
#pragma once
#include <cmath>

#include <tests/kernels/op_test.h>

#include "kernels/ops/batch_norm/batch_norm.h"

namespace spire::testing {

constexpr double batch_norm_epsilon = static_cast<double>(1e-5f);

struct Moments {
  std::vector<double> mean, var;  // (C), var biased
};

inline Moments moments(const HostTensor& x) {
  int64_t channels = x.shape.back(), rows = x.size() / channels;
  Moments m{std::vector<double>(static_cast<size_t>(channels)), {}};
  m.var = m.mean;
  double n = static_cast<double>(rows);
  for (int64_t i = 0; i < x.size(); ++i) m.mean[static_cast<size_t>(i % channels)] += x[i] / n;
  for (int64_t i = 0; i < x.size(); ++i) {
    size_t c = static_cast<size_t>(i % channels);
    m.var[c] += (x[i] - m.mean[c]) * (x[i] - m.mean[c]) / n;
  }
  return m;
}

// y = (x - mean) / sqrt(var + epsilon) gamma + beta [+ residual] [relu]
inline HostTensor normalized(const HostTensor& x, const Moments& m, const HostTensor& gamma,
                             const HostTensor& beta, const HostTensor* residual, bool relu) {
  HostTensor y = x;
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t c = i % x.shape.back();
    size_t k = static_cast<size_t>(c);
    y[i] = (x[i] - m.mean[k]) / std::sqrt(m.var[k] + batch_norm_epsilon) * gamma[c] + beta[c];
    if (residual) y[i] += (*residual)[i];
    if (relu) y[i] = std::max(y[i], 0.0);
  }
  return y;
}

// y, mean, inv_std, stat_mean, stat_var of x, gamma, beta, running_var [, residual]
inline std::vector<HostTensor> train_reference(Tensors in, BatchNormAttributes attributes,
                                               double tower_weight) {
  const HostTensor& x = in[0];
  Moments m = moments(x);
  double n = static_cast<double>(x.size() / x.shape.back());
  std::vector<HostTensor> out = {
      normalized(x, m, in[1], in[2], attributes.residual ? &in[4] : nullptr, attributes.relu)};
  for (int k = 0; k < 4; ++k) out.push_back(zeros({x.shape.back()}));
  for (int64_t c = 0; c < x.shape.back(); ++c) {
    size_t k = static_cast<size_t>(c);
    out[1][c] = m.mean[k];
    out[2][c] = 1 / std::sqrt(m.var[k] + batch_norm_epsilon);
    out[3][c] = tower_weight * m.mean[k];
    out[4][c] = tower_weight * (n > 1 ? m.var[k] * n / (n - 1) : in[3][c]);
  }
  return out;
}

// Magnitudes to which the rounding errors of train_reference's outputs are relative.
// y: |gamma| (|x| + |mean|) inv_std + |beta| + |residual|. Means: mean |x|. The variance and
// inv_std: themselves, as a large mean must cost them nothing.
inline std::vector<HostTensor> train_magnitude(Tensors in, BatchNormAttributes attributes,
                                               double tower_weight) {
  auto out = train_reference(in, attributes, tower_weight);
  auto sizes = train_reference(absolute(in), attributes, tower_weight);
  for (int64_t i = 0; i < out[0].size(); ++i) {
    int64_t c = i % in[0].shape.back();
    double deviation = (std::abs(in[0][i]) + sizes[1][c]) * out[2][c];
    out[0][i] = deviation * in[1][c] + std::abs(in[2][c]);
    if (attributes.residual) out[0][i] += std::abs(in[4][i]);
  }
  return {out[0], sizes[1], out[2], sizes[3], out[4]};
}

constexpr BatchNormAttributes batch_norm_forms[] = {
    {1e-5f, false, false}, {1e-5f, true, false}, {1e-5f, false, true}, {1e-5f, true, true}};

inline BatchNormAttributes synced(BatchNormAttributes form) {
  form.sync = true;
  return form;
}

}  // namespace spire::testing
