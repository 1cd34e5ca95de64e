// Datasets of arrays: any strides and dtypes, and what they refuse.
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/dataset.h>
#include <spire/error.h>

#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

std::vector<float> counting(size_t count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  return numbers;
}

TEST(ArrayDataset, ReadsRowsInAnyOrder) {
  std::vector<float> x = counting(12);
  std::vector<int32_t> labels = {0, 2, 1, 2};
  auto data =
      array_dataset({array("labels", labels.data(), {4}), array("features", x.data(), {4, 3})});
  EXPECT_EQ(data->count(), 4);
  EXPECT_EQ(data->spec().classes, 3);
  ASSERT_EQ(data->spec().columns[0].name, "features");  // what the model reads comes first
  EXPECT_THAT(read_column<float>(*data, 0, {2, 0}), ElementsAre(6, 7, 8, 0, 1, 2));
  EXPECT_THAT(read_column<int32_t>(*data, 1, {3, 2}), ElementsAre(2, 1));
}

// A column-major matrix, as Eigen has it, and every other row of an array.
TEST(ArrayDataset, FollowsStrides) {
  std::vector<float> x = counting(12);
  auto columns = array_dataset({array("features", x.data(), {4, 3}, {1, 4})});
  EXPECT_THAT(read_column<float>(*columns, 0, {1}), ElementsAre(1, 5, 9));
  auto halves = array_dataset({array("features", x.data(), {2, 3}, {6, 1})});
  EXPECT_THAT(read_column<float>(*halves, 0, {1}), ElementsAre(6, 7, 8));
  auto reversed = array_dataset({array("features", x.data() + 9, {4, 3}, {-3, 1})});
  EXPECT_THAT(read_column<float>(*reversed, 0, {0}), ElementsAre(9, 10, 11));
}

// Planes (N, C, H, W), as PyTorch has them, are images (N, H, W, C) by strides.
TEST(ArrayDataset, ReadsImagesOfPlanes) {
  std::vector<uint8_t> planes(2 * 3 * 2 * 2);
  std::iota(planes.begin(), planes.end(), uint8_t{0});
  auto data = array_dataset({array("images", planes.data(), {2, 2, 2, 3}, {12, 2, 1, 4})});
  std::vector<float> expected;
  for (int pixel = 0; pixel < 4; ++pixel)
    for (int channel = 0; channel < 3; ++channel)
      expected.push_back(static_cast<float>(12 + 4 * channel + pixel) * (1.0f / 255));
  EXPECT_THAT(read_column<float>(*data, 0, {1}), ElementsAreArray(expected));
}

// Target images are read as images are; pixels of masks may have no class, -1.
TEST(ArrayDataset, ReadsTargetsOfImages) {
  std::vector<uint8_t> pixels = {0, 51, 102, 255};
  std::vector<int32_t> masks = {2, -1, 0, 1};
  auto data = array_dataset({array("images", pixels.data(), {1, 2, 2, 1}),
                             array("target_images", pixels.data(), {1, 2, 2, 1}),
                             array("masks", masks.data(), {1, 2, 2})});
  EXPECT_EQ(data->spec().classes, 3);
  EXPECT_EQ(read_column<float>(*data, 1, {0}), read_column<float>(*data, 0, {0}));
  EXPECT_THAT(read_column<int32_t>(*data, 2, {0}), ElementsAre(2, -1, 0, 1));
}

TEST(ArrayDataset, ConvertsToTheDtypeOfTheRun) {
  std::vector<double> x = {0.1, 1.0, 2.5, -3.14159};
  auto data = array_dataset({array("features", x.data(), {2, 2})}, {}, {.dtype = DType::bf16});
  EXPECT_EQ(data->spec().columns[0].dtype, DType::bf16);
  std::vector<bfloat16> row = read_column<bfloat16>(*data, 0, {1});
  EXPECT_EQ(row[0].bits, bfloat16(2.5f).bits);
  EXPECT_EQ(row[1].bits, bfloat16(-3.14159f).bits);
  std::vector<uint8_t> bytes = {1, 2, 3, 255};
  auto features = array_dataset({array("features", bytes.data(), {2, 2})});
  EXPECT_THAT(read_column<float>(*features, 0, {1}), ElementsAre(3, 255));
}

TEST(ArrayDataset, KeepsACopyIfAsked) {
  std::vector<float> x = counting(4);
  auto view = array_dataset({array("features", x.data(), {2, 2})});
  auto copy = array_dataset({array("features", x.data(), {2, 2})}, {.copy = true});
  x[3] = 7;
  EXPECT_THAT(read_column<float>(*view, 0, {1}), ElementsAre(2, 7));
  EXPECT_THAT(read_column<float>(*copy, 0, {1}), ElementsAre(2, 3));
}

// Classes of the training data count for test data that has fewer.
TEST(ArraySource, GivesBothHalvesOneSpec) {
  std::vector<float> x = counting(4);
  std::vector<int32_t> train = {0, 2}, test = {1, 0};
  DataSource source =
      array_source({array("features", x.data(), {2, 2}), array("labels", train.data(), {2})},
                   {array("features", x.data(), {2, 2}), array("labels", test.data(), {2})});
  DatasetPair pair = source({});
  EXPECT_EQ(pair.train->spec(), pair.test->spec());
  EXPECT_EQ(pair.test->spec().classes, 3);
  EXPECT_TRUE(pair.notes.empty());
}

const std::vector<float> numbers = counting(24);
const std::vector<int32_t> classes = {0, 5, 2, 1}, negative = {0, -1, 2, 1};
const std::vector<int32_t> places = {0, 1, 2, 0, 0, 1}, misplaced = {0, 1, 2, 0, 2, 3};

Array features(Shape shape) {
  return array("features", numbers.data(), shape);
}

struct Refusal {
  std::vector<Array> arrays;
  const char* says;
  ArrayOptions options = {};
};

TEST(ArrayDataset, RefusesArraysThatDoNotFit) {
  Array labels = array("labels", classes.data(), {4});
  const std::vector<Refusal> refusals = {
      {{}, "there are no arrays"},
      {{array<float>("features", nullptr, {4, 3})}, "array 'features': its data is null"},
      {{features({4, 3, 2})}, "its shape is (4, 3, 2); it must be (N, F)"},
      {{features({6, 3}), labels}, "array 'labels': it has 4 samples, and the first array has 6"},
      {{features({0, 3})}, "has no elements"},
      {{array("features", numbers.data(), {4, 3}, {3})}, "it has 1 strides for shape (4, 3)"},
      {{features({4, 3}), array("labels", numbers.data(), {4})},
       "its dtype is fp32; class and token numbers are i32 or u8"},
      {{features({4, 3}), labels}, "it has 5, but numbers are from 0 to 4", {.classes = 5}},
      {{features({4, 3}), array("labels", negative.data(), {4})},
       "it has -1, but numbers are from 0 to classes - 1"},
      {{array("positions", numbers.data(), {2, 3})},
       "array 'positions': its dtype is fp32; positions are i32 or u8"},
      {{array("tokens", places.data(), {2, 3}), array("positions", misplaced.data(), {2, 3})},
       "sample 1 has 2 at position 1; a document begins with 0, and each further token has one "
       "more"},
      {{array("", numbers.data(), {4, 3})}, "needs the name of its column"}};
  for (const Refusal& one : refusals)
    EXPECT_THAT(message_of(Category::data, [&] { array_dataset(one.arrays, one.options); }),
                testing::HasSubstr(one.says));
  EXPECT_THAT(message_of(Category::data, [] { function_dataset({}, 1, nullptr); }),
              testing::HasSubstr("has no columns"));
}

}  // namespace
}  // namespace spire
