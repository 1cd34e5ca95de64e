#include "engine/data/images/mix.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/base/fail.h"

namespace spire {
namespace {

class DrawSequence {
 public:
  DrawSequence(const RandomStream& stream, uint64_t first_block)
      : stream_(stream), next_(4 * first_block) {}
  double uniform() {  // in (0, 1), never its ends: its logarithm is finite
    return (static_cast<double>(stream_.bits(next_++)) + 0.5) * 0x1p-32;
  }
  double normal() {  // Box, Muller 1958
    double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  const RandomStream& stream_;
  uint64_t next_;
};

// Draws from Gamma(alpha) and returns the logarithm: for a small alpha the draw itself may be too
// small for a double (Marsaglia, Tsang: "A Simple Method for Generating Gamma Variables", 2000).
// alpha < 1: Gamma(alpha) = Gamma(alpha + 1) x U^(1 / alpha).
double log_gamma_draw(double alpha, DrawSequence& draws) {
  double boost = alpha < 1 ? std::log(draws.uniform()) / alpha : 0;
  double d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    double x = draws.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    double v = root * root * root;
    if (std::log(draws.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d * v) + boost;
  }
}

// Mixes two rows in place: a = lambda a + (1 - lambda) b, and b the other way round.
template <typename T>
void blend(float lambda, int64_t count, T* a, T* b) {
  for (int64_t i = 0; i < count; ++i) {
    float x = a[i], y = b[i];
    a[i] = T(lambda * x + (1 - lambda) * y);
    b[i] = T(lambda * y + (1 - lambda) * x);
  }
}

struct Interval {
  int64_t begin, end;
};

// Returns `share` of a side around `center`, both in units of the side, cut off at the edges.
Interval interval_around(double center, double share, int64_t side) {
  auto length = static_cast<double>(side);
  auto bound = [&](double at) { return std::clamp<int64_t>(std::lround(at * length), 0, side); };
  return {bound(center - share / 2), bound(center + share / 2)};
}

// Swaps a box of about (1 - lambda) of the area between two images and returns the share of an
// image that stays: at the edges the box is smaller than drawn.
float swap_box(const Column& images, double lambda, double center_y, double center_x, std::byte* a,
               std::byte* b) {
  int64_t height = images.shape[0], width = images.shape[1];
  double share = std::sqrt(1 - lambda);
  Interval y = interval_around(center_y, share, height);
  Interval x = interval_around(center_x, share, width);
  auto pixel = static_cast<size_t>(images.shape[2]) * size_of(images.dtype);
  for (int64_t row = y.begin; row < y.end; ++row) {
    auto begin = static_cast<size_t>(row * width + x.begin) * pixel;
    auto end = static_cast<size_t>(row * width + x.end) * pixel;
    std::swap_ranges(a + begin, a + end, b + begin);
  }
  auto area = static_cast<double>((y.end - y.begin) * (x.end - x.begin));
  return static_cast<float>(1 - area / static_cast<double>(height * width));
}

}  // namespace

double beta_draw(double alpha, const RandomStream& stream, uint64_t first) {
  DrawSequence draws(stream, first);
  double a = log_gamma_draw(alpha, draws), b = log_gamma_draw(alpha, draws);
  return 1 / (1 + std::exp(b - a));  // e^a / (e^a + e^b)
}

Mixer::Mixer(std::vector<Column> columns, const MixOptions& options, uint64_t seed)
    : columns_(std::move(columns)), options_(options), seed_(seed) {
  auto named = [&](const char* name) { return std::ranges::find(columns_, name, &Column::name); };
  auto labels = named("labels");
  const std::string& input = columns_.front().name;
  if (labels == columns_.end() || (input != "images" && input != "features"))
    fail(Category::config,
         "data.augment.mixup, cutmix: need images or features with labels, got {}; set them to 0",
         input);
  if (options.cutmix > 0 && input != "images")
    fail(Category::config, "data.augment.cutmix: needs images, got {}; use data.augment.mixup",
         input);
  labels_ = static_cast<size_t>(labels - columns_.begin());
  columns_.push_back({"other_labels", {}, DType::i32});
  columns_.push_back({"mix", {}, DType::f32});
}

void Mixer::mix(std::span<const int64_t> samples, int64_t epoch, size_t first_row,
                std::span<std::byte* const> columns) const {
  size_t n = samples.size(), input_bytes = columns_[0].row_bytes();
  const auto* labels = reinterpret_cast<const int32_t*>(columns[labels_]) + first_row;
  auto* others = reinterpret_cast<int32_t*>(columns[columns_.size() - 2]) + first_row;
  auto* shares = reinterpret_cast<float*>(columns[columns_.size() - 1]) + first_row;
  for (size_t row = 0; row < n; ++row) {
    others[row] = labels[n - 1 - row];
    shares[row] = 1;
  }
  // The lower row of a pair keys the draws.
  for (size_t row = 0; row < n / 2; ++row) {
    size_t other = n - 1 - row;
    const RandomStream draws(seed_, Purpose::mix, static_cast<uint64_t>(epoch),
                             static_cast<uint64_t>(samples[row]));
    shares[row] = shares[other] = mix_pair(draws, columns[0] + (first_row + row) * input_bytes,
                                           columns[0] + (first_row + other) * input_bytes);
  }
}

float Mixer::mix_pair(const RandomStream& draws, std::byte* a, std::byte* b) const {
  // Numbers 0 to 2 are in block 0 of the stream; beta_draw() begins at block 1.
  constexpr uint64_t which = 0, center_y = 1, center_x = 2, lambda_block = 1;
  bool cut = options_.mixup == 0 || (options_.cutmix > 0 && draws.uniform(which) < 0.5f);
  const Column& input = columns_[0];
  double lambda = beta_draw(cut ? options_.cutmix : options_.mixup, draws, lambda_block);
  if (cut) return swap_box(input, lambda, draws.uniform(center_y), draws.uniform(center_x), a, b);
  auto share = static_cast<float>(lambda);
  int64_t count = input.shape.elements();
  with_any_float_type(input.dtype, [&](auto type) {
    using T = decltype(type);
    blend(share, count, reinterpret_cast<T*>(a), reinterpret_cast<T*>(b));
  });
  return share;
}

}  // namespace spire
