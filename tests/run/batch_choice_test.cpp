#include "engine/run/batch_choice.h"

#include <bit>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spire {
namespace {

using testing::ElementsAre;

std::vector<int64_t> sizes(const BatchRequest& request) {
  std::vector<int64_t> found;
  for (const BatchShape& shape : batch_shapes(request)) found.push_back(shape.batch_size);
  return found;
}

TEST(BatchChoice, TriesPowersOfTwoAndMultiplesOfEight) {
  BatchRequest request{.devices = 2, .on_cpus = false, .samples = 2 * 50 * 300, .towers = 2};
  EXPECT_THAT(sizes(request), ElementsAre(1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128,
                                          160, 192, 224, 256));
  for (const BatchShape& shape : batch_shapes(request)) EXPECT_EQ(shape.towers, 2);
}

TEST(BatchChoice, HasABoundOnCpusAndOneByTheData) {
  BatchRequest request{.on_cpus = true, .samples = 1000000};
  EXPECT_EQ(sizes(request).back(), largest_cpu_batch);
  EXPECT_EQ(request.why_largest(), "auto takes at most 128 on CPUs");
  request.samples = 50 * 40;  // 40 samples a step leave 50 steps
  EXPECT_EQ(sizes(request).back(), 40);
  request.samples = 50 * 40 - 1;
  EXPECT_EQ(sizes(request).back(), 32);
  request.samples = 100;
  EXPECT_EQ(sizes(request).back(), smallest_batch);
  request.samples = 5;
  EXPECT_EQ(sizes(request).back(), 4);
  request.samples = 0;
  EXPECT_EQ(sizes(request).back(), 1);
}

TEST(BatchChoice, KeepsAGlobalBatchByTowers) {
  BatchRequest request{.devices = 2, .on_cpus = false, .global_batch = 24};
  EXPECT_THAT(batch_shapes(request),
              ElementsAre(BatchShape{1, 24}, BatchShape{2, 12}, BatchShape{3, 8}, BatchShape{4, 6},
                          BatchShape{6, 4}, BatchShape{12, 2}));
  request.devices = 5;  // no number of towers is a multiple of it
  EXPECT_THAT(batch_shapes(request), ElementsAre(BatchShape{1, 24}, BatchShape{2, 12},
                                                 BatchShape{3, 8}, BatchShape{4, 6}));
  request.devices = 25;
  EXPECT_THAT(batch_shapes(request), ElementsAre());
  for (const BatchShape& shape : batch_shapes({.on_cpus = true, .global_batch = 1024}))
    EXPECT_EQ(shape.batch_size * shape.towers, 1024);
}

TEST(BatchChoice, FindsTheLastThatFitsWithFewQuestions) {
  std::vector<BatchShape> shapes;
  for (int64_t count = 1; count <= 40; ++count) {
    shapes.push_back({count, 2});
    for (int64_t fitting = 0; fitting <= count; ++fitting) {
      int asked = 0;
      size_t last = last_fitting(shapes, [&](const BatchShape& shape) {
        ++asked;
        return shape.batch_size <= fitting;
      });
      EXPECT_EQ(shapes[last].batch_size, std::max<int64_t>(1, fitting)) << count;
      EXPECT_LE(asked, std::bit_width(static_cast<uint64_t>(count)) + 1) << count;
    }
  }
}

TEST(BatchChoice, FindsTheLastAmongTowersAlsoWhereASmallerOneDoesNotFit) {
  std::vector<BatchShape> shapes = batch_shapes({.on_cpus = false, .global_batch = 64});
  for (const BatchShape& only : shapes) {
    size_t last = last_fitting(shapes, [&](const BatchShape& shape) { return shape == only; });
    EXPECT_EQ(shapes[last], only);
  }
}

}  // namespace
}  // namespace spire
