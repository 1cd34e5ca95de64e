// Arrays of NumPy as datasets: columns from shapes and types, splits, refusals.
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/dataset_table.h"
#include "engine/data/numpy/npy_array.h"
#include "engine/data/part_names.h"
#include "tests/data/numpy/npy_files.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Npy : public testing::Test {
 protected:
  template <typename T>
  void put(const std::string& name, const std::string& descr, const std::string& shape,
           const std::vector<T>& values) {
    write_npy(folder_ / (name + ".npy"), descr, shape, values);
  }
  // The same rows for training and testing.
  template <typename X, typename Y>
  void put_both(const std::string& x_type, const std::string& x_shape, const std::vector<X>& x,
                const std::string& y_type, const std::string& y_shape, const std::vector<Y>& y,
                const std::string& input = "x", const std::string& target = "y") {
    for (const char* split : {"_train", "_test"}) {
      put(input + split, x_type, x_shape, x);
      put(target + split, y_type, y_shape, y);
    }
  }
  DatasetPair open_it() { return open_dataset(config_, options_); }
  std::string refusal(Category category = Category::data) {
    return message_of(category, [&] { open_it(); });
  }

  Folder folder_;
  DataConfig config_ = data_at("npy", folder_.path());
  ReadOptions options_;
};

TEST_F(Npy, FeaturesAndLabels) {
  put_both<double, int64_t>("<f8", "(3, 2)", {1, 10, 3, 10, 5, 10}, "<i8", "(3,)", {0, 2, 1});
  DatasetPair pair = open_it();
  EXPECT_THAT(pair.train->spec().columns,
              ElementsAre(Column{"features", {2}, DType::f32}, Column{"labels", {}, DType::i32}));
  EXPECT_EQ(pair.train->spec().classes, 3);
  auto one = static_cast<float>(2 / std::sqrt(8.0 / 3));
  EXPECT_THAT(read_column<float>(*pair.train, 0, {2, 1, 0}), ElementsAre(one, 0, 0, 0, -one, 0));
  EXPECT_THAT(read_column<int32_t>(*pair.test, 1, {0, 1, 2}), ElementsAre(0, 2, 1));
  EXPECT_THAT(pair.train->layout(),
              ElementsAre("x_train.npy: float64 (3, 2)", "y_train.npy: int64 (3)"));
  std::vector<int32_t> labels(2);
  pair.train->read_labels(1, labels);
  EXPECT_THAT(labels, ElementsAre(2, 1));
}

// Labels of one column are labels.
TEST_F(Npy, ImagesOfEachTypeAreNormalizedInTheirUnit) {
  std::vector<uint8_t> labels = {1, 0};
  put_both<uint8_t, uint8_t>("|u1", "(2, 1, 2)", {0, 255, 255, 0}, "|u1", "(2, 1)", labels);
  EXPECT_THAT(open_it().train->spec().columns, ElementsAre(Column{"images", {1, 2, 1}, DType::f32},
                                                           Column{"labels", {}, DType::i32}));
  EXPECT_THAT(read_column<float>(*open_it().train, 0, {0}), ElementsAre(-1, 1));
  put_both<uint16_t, uint8_t>("<u2", "(2, 1, 2, 1)", {0, 65535, 65535, 0}, "|u1", "(2,)", labels);
  EXPECT_THAT(open_it().train->spec().normalization.mean, ElementsAre(0.5));
  EXPECT_THAT(read_column<float>(*open_it().train, 0, {0}), ElementsAre(-1, 1));
  put_both<float, uint8_t>("<f4", "(2, 1, 2, 1)", {2, 4, 4, 2}, "|u1", "(2,)", labels);
  DatasetPair pair = open_it();
  EXPECT_EQ(pair.train->spec().columns[0].name, "images");
  EXPECT_THAT(pair.train->spec().normalization.mean, ElementsAre(3));
  EXPECT_THAT(read_column<float>(*pair.train, 0, {1}), ElementsAre(1, -1));
  options_.as_stored = true;
  EXPECT_EQ(open_it().train->spec().columns[0].dtype, DType::f32);
  EXPECT_THAT(read_column<float>(*open_it().train, 0, {1}), ElementsAre(4, 2));
  config_.augment.flip = true;
  options_.as_stored = false;
  EXPECT_THAT(refusal(Category::config), HasSubstr("needs images of 8 bits"));
}

TEST_F(Npy, SequencesAreFeaturesOfTwoAxes) {
  put_both<float, float>("<f4", "(2, 3, 2)", {1, 5, 1, 5, 1, 5, 3, 5, 3, 5, 3, 5}, "<f4", "(2,)",
                         {0.5f, 1.5f});
  DatasetPair pair = open_it();
  EXPECT_THAT(pair.train->spec().columns, ElementsAre(Column{"features", {3, 2}, DType::f32},
                                                      Column{"values", {1}, DType::f32}));
  EXPECT_THAT(pair.train->spec().normalization.mean, ElementsAre(2, 5));
  EXPECT_THAT(read_column<float>(*pair.train, 0, {1}), ElementsAre(1, 0, 1, 0, 1, 0));
}

// The name tells grey images from sequences, and tokens from features.
TEST_F(Npy, NamesOfFilesDecideWhatShapesDoNot) {
  put_both<float, int32_t>("<f4", "(2, 1, 2)", {0, 1, 1, 0}, "<i4", "(2,)", {0, 1}, "images");
  EXPECT_EQ(open_it().train->spec().columns[0].shape, Shape({1, 2, 1}));
  std::filesystem::remove(folder_ / "images_train.npy");
  std::filesystem::remove(folder_ / "images_test.npy");
  put_both<int32_t, int32_t>("<i4", "(2, 3)", {7, 1, 900, 0, 0, 0}, "<i4", "(2,)", {0, 1},
                             "tokens");
  DatasetPair pair = open_it();
  EXPECT_THAT(pair.train->spec().columns,
              ElementsAre(Column{"tokens", {3}, DType::i32}, Column{"labels", {}, DType::i32}));
  EXPECT_THAT(read_column<int32_t>(*pair.train, 0, {0}), ElementsAre(7, 1, 900));
  EXPECT_EQ(pair.train->spec().classes, 2);
}

TEST_F(Npy, NamesAreFoundInAnyCaseAndOthersAreNoted) {
  for (const char* split : {"Train", "TEST"}) {
    put(std::string("X_") + split, "<f8", "(2, 1)", std::vector<double>{1, 3});
    put(std::string("Y_") + split, "<i8", "(2,)", std::vector<int64_t>{0, 1});
  }
  put("x_extra", "<f8", "(1,)", std::vector<double>{1});
  DatasetPair pair = open_it();
  EXPECT_THAT(pair.test->layout(),
              ElementsAre("X_TEST.npy: float64 (2, 1)", "Y_TEST.npy: int64 (2)"));
  EXPECT_THAT(pair.notes, ElementsAre(HasSubstr("'x_extra' not used")));
}

TEST_F(Npy, WithoutTestFilesAShareOfTheRowsIsTested) {
  std::vector<float> x;
  std::vector<uint8_t> y;
  for (int row = 0; row < 1000; ++row) x.push_back(static_cast<float>(row)), y.push_back(row % 2);
  put("x_train", "<f4", "(1000, 1)", x);
  put("y_train", "|b1", "(1000,)", y);
  DatasetPair pair = open_it();
  EXPECT_EQ(pair.train->count() + pair.test->count(), 1000);
  const Normalization& by = pair.train->spec().normalization;
  for (int64_t sample : {int64_t{0}, pair.test->count() - 1}) {
    double number = read_column<float>(*pair.test, 0, {sample})[0] * by.stddev[0] + by.mean[0];
    EXPECT_TRUE(is_test_row(std::lround(number), 0.1)) << number;
  }
}

// Not the samples of a part: who corrects the file counts its rows.
TEST_F(Npy, MessagesNumberTheRowsOfTheFile) {
  std::vector<float> x(100, 1.0f);
  std::vector<int32_t> y(100);
  for (size_t row = 0; row < y.size(); row += 2) y[row] = 1;
  x[90] = std::nanf("");
  put("x_train", "<f4", "(100, 1)", x);
  put("y_train", "<i4", "(100,)", y);
  ASSERT_FALSE(is_test_row(90, 0.1));
  DatasetPair pair = open_it();
  ASSERT_LT(pair.train->count(), 100);
  EXPECT_THAT(message_of(Category::data, [&] { read_all<float>(*pair.train, 0); }),
              HasSubstr("x_train.npy: sample 90: feature 0 is nan"));
  y[90] = 100'000;
  put("y_train", "<i4", "(100,)", y);
  EXPECT_THAT(refusal(), HasSubstr("is label 100000 (sample 90) right?"));
}

// Labels are read together: those of neighbouring rows, and at most so many at once.
TEST_F(Npy, ManyLabelsAreThoseOfTheirRows) {
  constexpr int64_t rows = 600'000;
  std::vector<uint8_t> x(rows), y(rows);
  for (size_t row = 0; row < y.size(); ++row) y[row] = static_cast<uint8_t>(row * row % 251 % 7);
  put("x_train", "|u1", fmt::format("({}, 1)", rows), x);
  put("y_train", "|u1", fmt::format("({},)", rows), y);
  for (bool all : {false, true}) {
    options_.all_test = all;
    DatasetPair pair = open_it();
    for (bool test : {false, true}) {
      std::vector<int32_t> expected;
      for (size_t row = 0; row < y.size(); ++row)
        if (all || is_test_row(static_cast<int64_t>(row), 0.1) == test) expected.push_back(y[row]);
      std::vector<int32_t> labels(expected.size());
      (test ? pair.test : pair.train)->read_labels(0, labels);
      EXPECT_EQ(labels, expected) << all << test;
    }
  }
}

TEST_F(Npy, TypesAreConverted) {
  auto numbers = [&](const std::string& descr, const auto& values, DType dtype) {
    write_npy(folder_ / "a.npy", descr, "(2,)", values, 2);
    NpyArray array(folder_ / "a.npy");
    std::vector<std::byte> memory, out(16);
    array.read(0, 2, dtype, memory, out.data());
    std::vector<double> result;
    for (size_t i = 0; i < 2; ++i)
      result.push_back(dtype == DType::i32   ? reinterpret_cast<int32_t*>(out.data())[i]
                       : dtype == DType::f32 ? reinterpret_cast<float*>(out.data())[i]
                                             : reinterpret_cast<double*>(out.data())[i]);
    return result;
  };
  EXPECT_THAT(numbers("<f2", std::vector<uint16_t>{0x3c00, 0xc000}, DType::f32),
              ElementsAre(1, -2));
  EXPECT_THAT(numbers("<i8", std::vector<int64_t>{-3, int64_t{1} << 40}, DType::i32),
              ElementsAre(-3, 2147483647));
  EXPECT_THAT(numbers("<u8", std::vector<uint64_t>{1, UINT64_MAX}, DType::i32),
              ElementsAre(1, 2147483647));
  EXPECT_THAT(numbers("<i8", std::vector<int64_t>{-3, 1600000001}, DType::f64),
              ElementsAre(-3, 1600000001));
  EXPECT_THAT(numbers("|i1", std::vector<int8_t>{-3, 4}, DType::f32), ElementsAre(-3, 4));
}

TEST_F(Npy, ArraysOfOtherKindsAreRefusedWithARemedy) {
  auto says = [&](const std::string& descr, const std::string& shape, const std::string& order) {
    write_npy(folder_ / "a.npy", descr, shape, std::vector<float>{1, 2, 3, 4}, 1, order);
    return message_of(Category::data, [&] { NpyArray(folder_ / "a.npy"); });
  };
  EXPECT_THAT(says("<f4", "(2, 2)", "True"), HasSubstr("numpy.ascontiguousarray(x)"));
  EXPECT_THAT(says(">f4", "(2, 2)", "False"), HasSubstr("newbyteorder('=')"));
  EXPECT_THAT(says("|O", "(2,)", "False"), HasSubstr("astype('float32')"));
  EXPECT_THAT(says("<c8", "(2,)", "False"), HasSubstr("only bool, integers and floats"));
  EXPECT_THAT(says("<f4", "()", "False"), HasSubstr("has no rows; its shape is ()"));
  EXPECT_THAT(says("<f4", "(0, 3)", "False"), HasSubstr("has no rows"));
  EXPECT_THAT(says("<f4", "(5,)", "False"),
              HasSubstr("16 bytes of numbers, but its shape needs 20"));
  EXPECT_THAT(says("<f4", "(4294967296, 4294967296)", "False"), HasSubstr("too large"));
  EXPECT_THAT(says("<f4", "(2, x)", "False"), HasSubstr("its shape cannot be read"));
  write_text(folder_ / "a.npy", "PK and more bytes than a header has");
  EXPECT_THAT(message_of(Category::data, [&] { NpyArray(folder_ / "a.npy"); }),
              HasSubstr("does not begin with"));
  write_npy(folder_ / "a.npy", "<f4", "(1,)", std::vector<float>{1}, 9);
  EXPECT_THAT(message_of(Category::data, [&] { NpyArray(folder_ / "a.npy"); }),
              HasSubstr("version 9.0"));
}

TEST_F(Npy, TargetImagesAndMasks) {
  const Bytes images = pattern(2 * 2 * 2 * 3);
  put_both<uint8_t, uint8_t>("|u1", "(2, 2, 2, 3)", images, "|u1", "(2, 2, 2)",
                             {0, 1, 2, 255, 0, 1, 2, 1}, "images", "masks");
  EXPECT_EQ(open_it().train->spec().columns[1], (Column{"masks", {2, 2}, DType::i32}));
  EXPECT_EQ(open_it().train->spec().classes, 3);
  EXPECT_THAT(read_column<int32_t>(*open_it().train, 1, {0}), ElementsAre(0, 1, 2, -1));
  config_.pairs.classes = 5;
  EXPECT_EQ(open_it().train->spec().classes, 5);
  config_.augment.rand_augment.count = 2;
  EXPECT_THAT(refusal(Category::config),
              HasSubstr("data.augment.rand_augment: changes images in ways that their targets"));
  config_.augment = {};
  for (const char* split : {"masks_train.npy", "masks_test.npy"})
    std::filesystem::remove(folder_ / split);
  put_both<uint8_t, uint8_t>("|u1", "(2, 2, 2, 3)", images, "|u1", "(2, 2, 2, 3)", images, "images",
                             "target_images");
  EXPECT_EQ(open_it().train->spec().columns[1], (Column{"target_images", {2, 2, 3}, DType::f32}));
}

TEST_F(Npy, ATestTargetAloneIsRefused) {
  put("x_train", "<f4", "(2, 1)", std::vector<float>{1, 2});
  put("y_train", "<i4", "(2,)", std::vector<int32_t>{0, 1});
  put("y_test", "<i4", "(2,)", std::vector<int32_t>{0, 1});
  EXPECT_THAT(refusal(), HasSubstr("y_test.npy: there is no input for it, such as x_test.npy"));
}

TEST_F(Npy, FoldersAndSetsThatDoNotFitAreRefused) {
  EXPECT_THAT(refusal(), HasSubstr("there is no file x_train.npy, images_train.npy"));
  EXPECT_THAT(open_refusal(data_at("npy", "auto"), Category::config),
              HasSubstr("data.path: auto is no folder"));
  put("x_train", "<f4", "(2, 1)", std::vector<float>{1, 2});
  EXPECT_THAT(refusal(), HasSubstr("there is no file y_train.npy"));
  put("y_train", "<i4", "(3,)", std::vector<int32_t>{0, 1, 0});
  EXPECT_THAT(refusal(), HasSubstr("y_train.npy: has 3 rows, but"));
  put_both<float, int32_t>("<f4", "(2, 1)", {1, 2}, "<i4", "(2,)", {0, 1});
  put("x_test", "<f4", "(2, 2)", std::vector<float>{1, 2, 3, 4});
  EXPECT_THAT(refusal(), HasSubstr("use files of one set"));
  put_both<float, float>("<f4", "(2, 1)", {1, 2}, "<f4", "(2,)", {0, 1});
  EXPECT_THAT(refusal(), HasSubstr("data.npy.task: value"));
}

}  // namespace
}  // namespace spire
