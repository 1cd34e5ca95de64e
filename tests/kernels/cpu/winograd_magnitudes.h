// Bounds of the rounding errors of Winograd's F(2x2, 3x3), in float64: the sums that its kernels
// compute, with the absolute values of all terms. So y is off by at most |A^T| (|U| * |V|) |A|,
// summed over channels, times the rounding unit and the count of roundings behind one another.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include <Eigen/Core>

#include "kernels/cpu/tiled_convolution.h"

namespace spire::testing {

class WinogradMagnitudes {
 public:
  using Tensor = std::vector<double>;
  using Shape = product::ConvolutionShape;

  // |A^T| (|U| * |V|) |A|, with |U| = |G| |g| |G^T| and |V| = |B^T| |d| |B|.
  static Tensor forward(const Shape& s, const Tensor& x, const Tensor& w) {
    Tensor y(static_cast<size_t>(s.n * s.oh * s.ow * s.o));
    std::vector<Points> u(static_cast<size_t>(s.o * s.c)), v(static_cast<size_t>(s.c));
    for (size_t i = 0; i < u.size(); ++i) {
      Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>> g(&w[i * 9]);
      u[i] = weights() * g.cwiseAbs() * weights().transpose();
    }
    over_tiles(s, [&](int64_t n, int64_t i, int64_t j) {
      for (int64_t c = 0; c < s.c; ++c) v[static_cast<size_t>(c)] = input(s, x, n, i, j, c);
      for (int64_t o = 0; o < s.o; ++o) {
        Points m = Points::Zero();
        for (int64_t c = 0; c < s.c; ++c)
          m += u[static_cast<size_t>(o * s.c + c)].cwiseProduct(v[static_cast<size_t>(c)]);
        Eigen::Matrix2d out = outputs() * m * outputs().transpose();
        for (int64_t a = 0; a < std::min<int64_t>(2, s.oh - i); ++a)
          for (int64_t b = 0; b < std::min<int64_t>(2, s.ow - j); ++b)
            y[static_cast<size_t>(((n * s.oh + i + a) * s.ow + j + b) * s.o + o)] = out(a, b);
      }
    });
    return y;
  }

  // The forward sums of dy with flipped weights.
  static Tensor backward_data(const Shape& s, const Tensor& dy, const Tensor& w) {
    Shape turned{s.n, s.oh, s.ow, s.o, s.h, s.w, s.c, s.window};
    turned.window.padding = {2 - s.window.padding.h, 2 - s.window.padding.w};
    Tensor flipped(w.size());
    for (int64_t o = 0; o < s.o; ++o)
      for (int64_t c = 0; c < s.c; ++c)
        for (int64_t tap = 0; tap < 9; ++tap)
          flipped[static_cast<size_t>((c * s.o + o) * 9 + 8 - tap)] =
              w[static_cast<size_t>((o * s.c + c) * 9 + tap)];
    return forward(turned, dy, flipped);
  }

  // |G^T| (|Z| * |V|) |G|, summed over tiles, with |Z| = |A| |e| |A^T|.
  static Tensor backward_weights(const Shape& s, const Tensor& x, const Tensor& dy) {
    std::vector<Points> sums(static_cast<size_t>(s.o * s.c), Points::Zero());
    std::vector<Points> v(static_cast<size_t>(s.c));
    over_tiles(s, [&](int64_t n, int64_t i, int64_t j) {
      for (int64_t c = 0; c < s.c; ++c) v[static_cast<size_t>(c)] = input(s, x, n, i, j, c);
      for (int64_t o = 0; o < s.o; ++o) {
        Eigen::Matrix2d e = patch<2>(dy, {s.oh, s.ow, s.o}, n, i, j, o);
        Points z = outputs().transpose() * e * outputs();
        for (int64_t c = 0; c < s.c; ++c)
          sums[static_cast<size_t>(o * s.c + c)] += z.cwiseProduct(v[static_cast<size_t>(c)]);
      }
    });
    Tensor dw;
    for (const Points& m : sums) {
      Eigen::Matrix3d g = weights().transpose() * m * weights();
      for (int tap = 0; tap < 9; ++tap) dw.push_back(g(tap / 3, tap % 3));
    }
    return dw;
  }

 private:
  using Points = Eigen::Matrix4d;
  struct Images {
    int64_t h, w, c;
  };

  // |B^T|, |G|, |A^T|
  static Points inputs() { return Points{{1, 0, 1, 0}, {0, 1, 1, 0}, {0, 1, 1, 0}, {0, 1, 0, 1}}; }
  static Eigen::Matrix<double, 4, 3> weights() {
    return Eigen::Matrix<double, 4, 3>{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, {0, 0, 1}};
  }
  static Eigen::Matrix<double, 2, 4> outputs() {
    return Eigen::Matrix<double, 2, 4>{{1, 1, 1, 0}, {0, 1, 1, 1}};
  }

  // Calls body(n, i, j) for the tiles of y, which begin at row i and column j.
  template <typename Body>
  static void over_tiles(const Shape& s, const Body& body) {
    for (int64_t n = 0; n < s.n; ++n)
      for (int64_t i = 0; i < s.oh; i += 2)
        for (int64_t j = 0; j < s.ow; j += 2) body(n, i, j);
  }

  // |V| of a tile and a channel.
  static Points input(const Shape& s, const Tensor& x, int64_t n, int64_t i, int64_t j, int64_t c) {
    const Extent2d& padding = s.window.padding;
    Points d = patch<4>(x, {s.h, s.w, s.c}, n, i - padding.h, j - padding.w, c);
    return inputs() * d * inputs().transpose();
  }

  // Absolute values of size x size pixels of a channel, zeros around the image.
  template <int size>
  static Eigen::Matrix<double, size, size> patch(const Tensor& from, const Images& s, int64_t n,
                                                 int64_t i, int64_t j, int64_t c) {
    Eigen::Matrix<double, size, size> d;
    for (int64_t a = 0; a < size; ++a)
      for (int64_t b = 0; b < size; ++b) {
        int64_t row = i + a, column = j + b;
        bool inside = row >= 0 && row < s.h && column >= 0 && column < s.w;
        auto at = static_cast<size_t>(((n * s.h + row) * s.w + column) * s.c + c);
        d(a, b) = inside ? std::abs(from[at]) : 0;
      }
    return d;
  }
};

}  // namespace spire::testing
