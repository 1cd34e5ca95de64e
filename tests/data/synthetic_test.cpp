#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/random_stream.h>

#include "engine/config/words.h"
#include "engine/data/dataset_table.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DataConfig synthetic_config(const std::string& kind, const std::vector<int64_t>& shape,
                            int64_t classes = 10) {
  DataConfig config;
  config.name = "synthetic";
  config.synthetic = {*find_word<SyntheticConfig::Kind>(kind), shape, classes, 600, 100};
  return config;
}

TEST(Synthetic, HasTheColumnsOfItsKind) {
  ReadOptions options = {DType::bf16, 3};
  DatasetPair images = open_dataset(synthetic_config("images", {4, 6, 3}), options);
  EXPECT_EQ(images.train->count(), 600);
  EXPECT_EQ(images.test->count(), 100);
  EXPECT_EQ(images.train->spec().classes, 10);
  EXPECT_THAT(images.test->spec().columns, ElementsAre(Column{"images", {4, 6, 3}, DType::bf16},
                                                       Column{"labels", {}, DType::i32}));
  EXPECT_THAT(open_dataset(synthetic_config("features", {7}), {}).train->spec().columns,
              ElementsAre(Column{"features", {7}, DType::f32}, Column{"labels", {}, DType::i32}));
  DatasetPair tokens = open_dataset(synthetic_config("tokens", {5}, 33), options);
  EXPECT_EQ(tokens.train->spec().classes, 33);
  EXPECT_THAT(tokens.train->spec().columns,
              ElementsAre(Column{"tokens", {5}, DType::i32}, Column{"targets", {5}, DType::i32}));
}

// Whatever is read before or beside it, and in whichever epoch.
TEST(Synthetic, ASampleIsAFunctionOfSeedAndNumber) {
  for (const DataConfig& config :
       {synthetic_config("images", {9, 7, 2}), synthetic_config("features", {70}),
        synthetic_config("tokens", {12})}) {
    DatasetPair pair = open_dataset(config, {DType::f32, 5});
    for (size_t column : {0u, 1u}) {
      auto all = read_column<int32_t>(*pair.train, column, sequence(0, 600));
      size_t size = all.size() / 600;
      for (int64_t sample : {0, 1, 17, 599}) {
        auto at = all.begin() + static_cast<std::ptrdiff_t>(size) * sample;
        EXPECT_EQ(read_column<int32_t>(*pair.train, column, {sample}, 4),
                  std::vector<int32_t>(at, at + static_cast<std::ptrdiff_t>(size)));
      }
      auto again = open_dataset(config, {DType::f32, 5});
      EXPECT_EQ(read_column<int32_t>(*again.train, column, sequence(0, 600)), all);
      auto other = open_dataset(config, {DType::f32, 6});
      EXPECT_NE(read_column<int32_t>(*other.train, column, sequence(0, 600)), all);
    }
  }
}

TEST(Synthetic, TheTestSetFollowsTheTrainingSet) {
  DataConfig config = synthetic_config("images", {3, 3, 1}), longer = config;
  longer.synthetic.samples = 700;
  DatasetPair pair = open_dataset(config, {}), whole = open_dataset(longer, {});
  EXPECT_EQ(read_column<float>(*pair.test, 0, sequence(0, 100)),
            read_column<float>(*whole.train, 0, sequence(600, 100)));
}

// 600 x 3072 values: both moments within 1 %, as the noise is shared between samples.
TEST(Synthetic, ImagesHaveMeanZeroAndDeviationOne) {
  DatasetPair pair = open_dataset(synthetic_config("images", {32, 32, 3}, 500), {DType::f32, 1});
  auto values = read_column<float>(*pair.train, 0, sequence(0, 600));
  double sum = 0, squares = 0;
  for (float value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
    ASSERT_LE(std::abs(value), 0.6 + 0.8 * std::sqrt(3.0) + 1e-6);
  }
  auto n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0, 0.02);
  EXPECT_NEAR(squares / n, 1, 0.02);
}

// The signs of the means of 8 x 8 blocks of 12 x 12 x 3 values, each 15 deviations from 0.
TEST(Synthetic, ALabelShowsInTheBlocksOfAnImage) {
  DatasetPair pair = open_dataset(synthetic_config("images", {96, 96, 3}), {DType::f32, 2});
  auto labels = read_column<int32_t>(*pair.train, 1, sequence(0, 100));
  auto values = read_column<float>(*pair.train, 0, sequence(0, 100));
  std::map<int32_t, std::set<std::vector<bool>>> patterns;
  for (size_t sample = 0; sample < 100; ++sample) {
    std::vector<double> sums(64);
    for (size_t i = 0; i < 96 * 96 * 3; ++i)
      sums[i / 3 / 96 / 12 * 8 + i / 3 % 96 / 12] += values[sample * 96 * 96 * 3 + i];
    std::vector<bool> signs;
    for (double sum : sums) {
      EXPECT_NEAR(std::abs(sum) / (12 * 12 * 3), 0.6, 0.2);
      signs.push_back(sum > 0);
    }
    patterns[labels[sample]].insert(signs);
  }
  EXPECT_EQ(patterns.size(), 10u);
  std::set<std::vector<bool>> different;
  for (const auto& [label, of_label] : patterns) {
    EXPECT_EQ(of_label.size(), 1u) << label;
    different.insert(*of_label.begin());
  }
  EXPECT_EQ(different.size(), 10u);
}

// Pixel (y, x) of 28 x 28, no multiple of 8, is noise in the block (8 y / 28, 8 x / 28), to the
// bit.
TEST(Synthetic, BlocksOfUnevenSizeFollowTheirFormula) {
  constexpr uint64_t seed = 2, noise = 0, patterns = 1, samples = 2;  // the streams' subjects
  DatasetPair pair = open_dataset(synthetic_config("images", {28, 28, 1}), {DType::f32, seed});
  auto labels = read_column<int32_t>(*pair.train, 1, sequence(0, 20));
  auto values = read_column<float>(*pair.train, 0, sequence(0, 20));
  RandomStream strip(seed, Purpose::synthetic, noise);
  for (size_t sample = 0; sample < 20; ++sample) {
    RandomStream draw(seed, Purpose::synthetic, samples, sample);
    ASSERT_EQ(labels[sample], static_cast<int32_t>(draw.below(0, 10)));
    RandomStream bits(seed, Purpose::synthetic, patterns, static_cast<uint64_t>(labels[sample]));
    uint64_t bright = uint64_t{bits.bits(0)} << 32 | bits.bits(1);
    uint64_t offset = draw.below(1, 4096);
    for (size_t i = 0; i < 28 * 28; ++i) {
      float value = (strip.uniform(offset + i) - 0.5f) * (0.8f * std::sqrt(12.0f));
      size_t block = i / 28 * 8 / 28 * 8 + i % 28 * 8 / 28;
      ASSERT_EQ(values[sample * 28 * 28 + i], value + (bright >> block & 1 ? 0.6f : -0.6f)) << i;
    }
  }
}

TEST(Synthetic, Bf16IsTheRoundedF32) {
  DataConfig config = synthetic_config("images", {5, 9, 3});
  auto exact = read_column<float>(*open_dataset(config, {DType::f32, 4}).train, 0, {0, 33});
  auto rounded = read_column<bfloat16>(*open_dataset(config, {DType::bf16, 4}).train, 0, {0, 33});
  ASSERT_EQ(exact.size(), rounded.size());
  for (size_t i = 0; i < exact.size(); ++i) EXPECT_EQ(rounded[i].bits, bfloat16(exact[i]).bits);
}

// In 3 of 4 places, and by chance in 1 of 50 of the others: 0.755; 4000 places deviate by 0.007.
TEST(Synthetic, TokensAreFollowedByTheirSuccessors) {
  DatasetPair pair = open_dataset(synthetic_config("tokens", {4000}, 50), {DType::f32, 8});
  auto tokens = read_column<int32_t>(*pair.train, 0, {3});
  auto targets = read_column<int32_t>(*pair.train, 1, {3});
  EXPECT_EQ(std::vector<int32_t>(tokens.begin() + 1, tokens.end()),
            std::vector<int32_t>(targets.begin(), targets.end() - 1));
  std::map<int32_t, std::map<int32_t, int>> counts;
  for (size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_TRUE(tokens[i] >= 0 && tokens[i] < 50);
    ++counts[tokens[i]][targets[i]];
  }
  double follow = 0;
  for (const auto& [token, next] : counts) {
    int most = 0;
    for (const auto& [target, count] : next) most = std::max(most, count);
    follow += most;
  }
  EXPECT_NEAR(follow / 4000, 0.755, 0.03);
}

TEST(Synthetic, AShapeFitsItsKind) {
  auto refusal = [](const std::string& kind, const std::vector<int64_t>& shape) {
    return open_refusal(synthetic_config(kind, shape), Category::config);
  };
  EXPECT_THAT(refusal("images", {32}),
              HasSubstr("[32] does not fit images; use [height, width, chan"));
  EXPECT_THAT(refusal("tokens", {3, 4}), HasSubstr("[3, 4] does not fit tokens; use one number"));
  EXPECT_THAT(refusal("features", {}), HasSubstr("data.synthetic.shape: [] does not fit features"));
  EXPECT_THAT(refusal("images", {1000000, 1000000, 1000000}), HasSubstr("make it smaller"));
}

TEST(Synthetic, IsNotAugmented) {
  DataConfig config = synthetic_config("images", {8, 8, 3});
  config.augment.flip = true;
  EXPECT_THAT(open_refusal(config, Category::config), HasSubstr("data.augment"));
}

}  // namespace
}  // namespace spire
