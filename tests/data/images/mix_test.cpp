#include "engine/data/images/mix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/numbered.h"

namespace spire {
namespace {

using testing::HasSubstr;

std::vector<double> betas(double alpha, uint64_t count) {
  std::vector<double> draws;
  for (uint64_t i = 0; i < count; ++i)
    draws.push_back(beta_draw(alpha, RandomStream(5, Purpose::mix, 1, i), 1));
  std::ranges::sort(draws);
  return draws;
}

// The largest distance between the draws' distribution and the one given: above 1.95 / sqrt(n) for
// 1 case in 1000.
template <typename Distribution>
double distance(const std::vector<double>& sorted, const Distribution& below) {
  double worst = 0, n = static_cast<double>(sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) {
    double at = below(sorted[i]);
    worst = std::max({worst, at - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - at});
  }
  return worst;
}

TEST(BetaDraw, FollowsTheDistributionsThatHaveAClosedForm) {
  constexpr uint64_t n = 4000;
  double limit = 1.95 / std::sqrt(n);
  EXPECT_LT(distance(betas(1, n), [](double x) { return x; }), limit);
  EXPECT_LT(distance(betas(0.5, n),
                     [](double x) { return 2 / std::numbers::pi * std::asin(std::sqrt(x)); }),
            limit);
  EXPECT_LT(distance(betas(2, n), [](double x) { return x * x * (3 - 2 * x); }), limit);
}

// Mean 1/2, variance 1 / (4 (2 alpha + 1)); the deviation of a sample variance is below v
// sqrt(2/n).
TEST(BetaDraw, HasTheMomentsOfEveryAlpha) {
  constexpr uint64_t n = 4000;
  for (double alpha : {1e-3, 0.1, 0.2, 0.8, 5.0, 100.0}) {
    double mean = 0, squares = 0, variance = 1 / (4 * (2 * alpha + 1));
    for (double x : betas(alpha, n)) {
      ASSERT_TRUE(x >= 0 && x <= 1) << x;
      mean += x / n, squares += (x - 0.5) * (x - 0.5) / n;
    }
    EXPECT_NEAR(mean, 0.5, 5 * std::sqrt(variance / n)) << alpha;
    EXPECT_NEAR(squares, variance, 5 * variance * std::sqrt(2.0 / n)) << alpha;
  }
}

constexpr int64_t mixed_side = 6;

LoaderOptions mixing(double mixup, double cutmix, int64_t towers = 3) {
  LoaderOptions options = options_of(5, towers, 2);
  options.mix = {mixup, cutmix};
  return options;
}

// One batch mixed and the same not mixed.
struct Pair {
  explicit Pair(const Dataset& dataset, LoaderOptions options, int64_t step = 0)
      : mixed(dataset, options), plain(dataset, without(options)) {
    for (BatchLoader* loader : {&mixed, &plain}) loader->start(1, step, 2);
    a = &mixed.next(), b = &plain.next();
  }
  static LoaderOptions without(LoaderOptions options) {
    options.mix = {};
    return options;
  }
  BatchLoader mixed, plain;
  const Batch *a, *b;
};

TEST(Mixup, IsTheWeightedSumOfTwoRowsOfATower) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    ImageDataset dataset = readable(numbered(28, mixed_side), dtype);
    for (int64_t step = 0; step < 2; ++step) {  // 15 rows, then 13: towers of 5, 5 and 3
      Pair pair(dataset, mixing(0.8, 0), step);
      for (int64_t tower = 0; tower < 3; ++tower) {
        int64_t n = std::clamp<int64_t>(pair.a->valid - 5 * tower, 0, 5);
        for (int64_t r = 0; r < n; ++r) {
          int64_t row = 5 * tower + r, other = 5 * tower + n - 1 - r;
          float share = pair.a->column<float>(3)[row];
          EXPECT_EQ(share, pair.a->column<float>(3)[other]);
          EXPECT_EQ(pair.a->column<int32_t>(1)[row], pair.b->column<int32_t>(1)[row]);
          EXPECT_EQ(pair.a->column<int32_t>(2)[row], pair.b->column<int32_t>(1)[other]);
          if (row == other) {
            EXPECT_EQ(share, 1.0f);
          }
          for (int64_t i = 0; i < mixed_side * mixed_side; ++i) {
            auto at = [&](const Batch* batch, int64_t of) -> float {
              int64_t at_pixel = of * mixed_side * mixed_side + i;
              if (dtype == DType::f32) return batch->column<float>(0)[at_pixel];
              return batch->column<bfloat16>(0)[at_pixel];
            };
            double expected = share * at(pair.b, row) + (1.0 - share) * at(pair.b, other);
            ASSERT_NEAR(at(pair.a, row), expected, dtype == DType::f32 ? 1e-6 : 2e-2);
          }
        }
      }
    }
  }
}

// Each pixel is of one of the two; the share of the row's own is what `mix` says.
TEST(Cutmix, PutsABoxOfTheOtherRow) {
  LabelledImages images = numbered(15, mixed_side);
  for (size_t i = 0; i < images.pixels.size(); ++i)
    images.pixels[i] =
        static_cast<uint8_t>(i / (mixed_side * mixed_side) * 16);  // image k is all 16 k
  ImageDataset dataset = readable(images);
  Pair pair(dataset, mixing(0, 1));
  int boxes = 0;
  for (int64_t row = 0; row < 15; ++row) {
    int64_t other = row / 5 * 5 + 4 - row % 5;
    const float* pixels = pair.a->column<float>(0) + row * mixed_side * mixed_side;
    float own = pair.b->column<float>(0)[row * mixed_side * mixed_side];
    float others = pair.b->column<float>(0)[other * mixed_side * mixed_side];
    int64_t kept = std::count(pixels, pixels + mixed_side * mixed_side, own);
    int64_t taken = std::count(pixels, pixels + mixed_side * mixed_side, others);
    if (row != other) {
      ASSERT_EQ(kept + taken, mixed_side * mixed_side);
    }
    EXPECT_FLOAT_EQ(pair.a->column<float>(3)[row],
                    static_cast<float>(kept) / (mixed_side * mixed_side));
    int64_t first = std::find(pixels, pixels + mixed_side * mixed_side, others) - pixels;
    if (row == other || taken == 0) continue;
    // The box is a rectangle: every row of it begins at one x and is as long as the others.
    int64_t x = first % mixed_side, width = 0;
    while (x + width < mixed_side && pixels[first + width] == others) ++width;
    ASSERT_EQ(taken % width, 0);
    for (int64_t y = 0; y < taken / width; ++y)
      for (int64_t i = 0; i < width; ++i) ASSERT_EQ(pixels[first + y * mixed_side + i], others);
    ++boxes;
  }
  EXPECT_GT(boxes, 4);
}

TEST(Mix, BothTakeHalfOfThePairsEach) {
  LabelledImages images = numbered(200, mixed_side);
  for (size_t i = 0; i < images.pixels.size(); ++i)
    images.pixels[i] = static_cast<uint8_t>(i / (mixed_side * mixed_side));
  ImageDataset dataset = readable(images);
  LoaderOptions options = options_of(200, 1, 1);
  options.mix = {1, 1};
  BatchLoader loader(dataset, options);
  loader.start(0, 0, 1);
  const Batch& batch = loader.next();
  // A row of mixup holds one value: neither its own nor the other's.
  int mixups = 0;
  for (int64_t row = 0; row < 100; ++row) {
    const float* pixels = batch.column<float>(0) + row * mixed_side * mixed_side;
    float own = static_cast<float>((batch.column<int32_t>(1)[row] / 255.0 - 0.5) / 0.25);
    float other = static_cast<float>((batch.column<int32_t>(2)[row] / 255.0 - 0.5) / 0.25);
    mixups += pixels[0] != own && pixels[0] != other ? 1 : 0;
  }
  EXPECT_NEAR(mixups, 50, 25);  // five deviations
}

// A row is the same whichever towers a process hosts.
TEST(Mix, TheUnionOfTheTowersIsTheWholeBatch) {
  for (int64_t count = 20; count < 29; ++count) {
    ImageDataset dataset = readable(numbered(count, mixed_side), DType::f32, {2, true});
    for (int64_t cut = 1; cut < 4; ++cut) expect_union(dataset, mixing(0.4, 1, 4), {cut});
  }
}

TEST(Mix, RowsWithoutSamplesAreZero) {
  ImageDataset dataset = readable(numbered(7, mixed_side));
  BatchLoader loader(dataset, mixing(0.4, 0));
  loader.start(0, 0, 1);
  const Batch& batch = loader.next();
  for (int64_t row = 7; row < 15; ++row) {
    EXPECT_EQ(batch.column<int32_t>(2)[row], 0);
    EXPECT_EQ(batch.column<float>(3)[row], 0);
  }
}

TEST(Mix, TheLoaderNamesTheAddedColumns) {
  ImageDataset dataset = readable(numbered(7, mixed_side));
  BatchLoader plain(dataset, options_of(5, 1, 0)), mixed(dataset, mixing(1, 0));
  EXPECT_EQ(plain.columns(), dataset.spec().columns);
  ASSERT_EQ(mixed.columns().size(), 4u);
  EXPECT_EQ(mixed.columns()[2], (Column{"other_labels", {}, DType::i32}));
  EXPECT_EQ(mixed.columns()[3], (Column{"mix", {}, DType::f32}));
}

TEST(Mix, IsForLabelledImagesAndFeatures) {
  auto refusal = [](std::vector<Column> columns, MixOptions options) {
    return message_of(Category::config, [&] { Mixer(columns, options, 1); });
  };
  Column labels = {"labels", {}, DType::i32}, features = {"features", {3}, DType::f32};
  EXPECT_THAT(refusal({{"tokens", {3}, DType::i32}, labels}, {1, 0}), HasSubstr("got tokens"));
  EXPECT_THAT(refusal({features, {"values", {1}, DType::f32}}, {1, 0}), HasSubstr("with labels"));
  EXPECT_THAT(refusal({features, labels}, {0, 1}), HasSubstr("use data.augment.mixup"));
  EXPECT_NO_THROW(Mixer({features, labels}, {1, 0}, 1));
}

}  // namespace
}  // namespace spire
