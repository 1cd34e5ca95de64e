#include "engine/data/validation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/images/png.h"
#include "engine/data/text/token_dataset.h"
#include "tests/base/message_of.h"
#include "tests/data/formats/hdf5_files.h"
#include "tests/data/numbered.h"
#include "tests/data/numpy/npy_files.h"

namespace spire {
namespace {

using testing::HasSubstr;

class Validation : public FolderTest {};

// `count` images, sample i of class i * i % 3.
LabelledImages of_three_classes(int64_t count) {
  LabelledImages images = numbered(count, 4);
  images.classes = 3;
  for (int64_t i = 0; i < count; ++i)
    images.labels[static_cast<size_t>(i)] = static_cast<int32_t>(i * i % 3);
  return images;
}

std::vector<int64_t> per_class(const Dataset& data, const std::vector<int64_t>& samples) {
  std::vector<int64_t> counts(3);
  std::vector<int32_t> labels(static_cast<size_t>(data.count()));
  data.read_labels(0, labels);
  for (int64_t sample : samples) ++counts[static_cast<size_t>(labels[static_cast<size_t>(sample)])];
  return counts;
}

TEST_F(Validation, HoldsOutTheShareOfEachClass) {
  ImageDataset data = readable(of_three_classes(100));  // 34 of class 0, 66 of class 1
  ValidationSplit split = split_validation(data, 0.2);
  EXPECT_EQ(per_class(data, split.val), (std::vector<int64_t>{7, 13, 0}));
  std::vector<int64_t> all = split.train;
  all.insert(all.end(), split.val.begin(), split.val.end());
  std::ranges::sort(all);
  EXPECT_EQ(all, sequence(0, 100));
}

// Neither the seed nor anything but the labels matters. The figures hold the split fast: another
// one would mix the samples of a resumed run.
TEST_F(Validation, IsTheSameForEverySeed) {
  ImageDataset data = readable(of_three_classes(40));
  ImageDataset other(of_three_classes(40), normalization, {}, {DType::bf16, 12345});
  EXPECT_EQ(split_validation(data, 0.2).val, split_validation(other, 0.2).val);
  EXPECT_EQ(split_validation(data, 0.2).val, (std::vector<int64_t>{1, 6, 13, 15, 24, 25, 26, 37}));
}

DatasetPair augmented_pair(bool plain) {
  AugmentConfig augment{.crop = 1, .flip = true};
  if (plain) augment = {};
  return {std::make_unique<ImageDataset>(of_three_classes(60), normalization, augment,
                                         ReadOptions{DType::f32, 3}),
          std::make_unique<ImageDataset>(of_three_classes(9), normalization, AugmentConfig{},
                                         ReadOptions{DType::f32, 3})};
}

TEST_F(Validation, ReadsItsSamplesWithoutAugmentation) {
  DataConfig config;
  config.augment = {.crop = 1, .flip = true};
  config.val.share = 0.25;
  DatasetPair data = augmented_pair(false), plain = augmented_pair(true);
  ValidationSplit split = split_validation(*data.train, 0.25);
  hold_out_validation(
      config, [] { return augmented_pair(true); }, data);
  ASSERT_EQ(data.val->count(), std::ssize(split.val));
  ASSERT_EQ(data.train->count(), std::ssize(split.train));
  EXPECT_EQ(&data.selection(), data.val.get());
  for (int64_t epoch : {0, 5})
    for (size_t i = 0; i < split.val.size(); ++i)
      EXPECT_EQ(read_column<float>(*data.val, 0, {static_cast<int64_t>(i)}, epoch),
                read_column<float>(*plain.train, 0, {split.val[i]}, 0));
  // Training samples keep the random numbers that they have in the whole dataset.
  DatasetPair whole = augmented_pair(false);
  for (int64_t i : {0, 7, 30})
    EXPECT_EQ(read_column<float>(*data.train, 0, {i}, 4),
              read_column<float>(*whole.train, 0, {split.train[static_cast<size_t>(i)]}, 4));
}

TEST_F(Validation, ReadsLabelsOfItsSamples) {
  DataConfig config;
  config.val.share = 0.25;
  DatasetPair data = augmented_pair(true), whole = augmented_pair(true);
  ValidationSplit split = split_validation(*data.train, 0.25);
  hold_out_validation(config, nullptr, data);
  std::vector<int32_t> labels(5), all(60);
  data.val->read_labels(3, labels);
  whole.train->read_labels(0, all);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(labels[i], all[static_cast<size_t>(split.val[3 + i])]);
}

// Larger or smaller than training images.
TEST_F(Validation, ImagesHaveTheSizeOfEvaluations) {
  for (int64_t size : {2, 6}) {
    DataConfig config;
    config.normalize = DataConfig::Normalize::unit;
    config.image.size = 3;
    config.image.eval_size = size;
    config.val.share = 0.25;
    auto open = [&](bool plain) {
      return make_image_pair(of_three_classes(60), of_three_classes(9), config,
                             {.as_evaluation = plain});
    };
    DatasetPair data = open(false), plain = open(true);
    ValidationSplit split = split_validation(*data.train, 0.25);
    hold_out_validation(
        config, [&] { return open(true); }, data);
    EXPECT_EQ(data.train->spec().columns[0].shape, Shape({3, 3, 1}));
    EXPECT_EQ(data.val->spec().columns[0].shape, Shape({size, size, 1}));
    EXPECT_EQ(data.val->spec().columns, data.test->spec().columns);
    EXPECT_EQ(read_column<float>(*data.val, 0, {1}),
              read_column<float>(*plain.train, 0, {split.val[1]}));
  }
}

TEST_F(Validation, ImagesOfOtherFilesHaveTheSizeOfEvaluations) {
  for (const char* set : {"set", "other"}) {
    for (const char* split : {"train", "test"}) {
      write_npy(folder_ / fmt::format("{}/x_{}.npy", set, split), "|u1", "(2, 3, 3)", pattern(18));
      write_npy(folder_ / fmt::format("{}/y_{}.npy", set, split), "|u1", "(2,)", Bytes{0, 1});
    }
  }
  for (int64_t size : {2, 6}) {
    DataConfig config = data_at("npy", folder_ / "set");
    config.val.path = (folder_ / "other").string();
    config.image.eval_size = size;
    DatasetPair data = open_dataset(config, {});
    open_validation(config, {}, data);
    EXPECT_EQ(data.train->spec().columns[0].shape, Shape({3, 3, 1}));
    EXPECT_EQ(data.val->spec().columns, data.test->spec().columns);
    EXPECT_EQ(data.val->count(), 4);
    std::vector<float> rows = read_column<float>(*data.val, 0, {0, 1, 2, 3});
    EXPECT_EQ(std::ssize(rows), 4 * size * size);
    EXPECT_EQ(read_column<float>(*data.val, 0, {3}), read_column<float>(*data.test, 0, {1}));
    EXPECT_EQ(data.val->layout().size(), 4u);
  }
}

// Opens training data and, as validation data, other files.
DatasetPair with_validation(DataConfig config, const Folder& folder, const char* train,
                            const char* val) {
  config.path = (folder / train).string();
  config.val.path = (folder / val).string();
  if (!config.tokens.text.empty()) config.tokens.text = {config.path};
  DatasetPair data = open_dataset(config, {});
  open_validation(config, {}, data);
  return data;
}

// Returns the message of the Error for which the other files are no validation data.
std::string refusal(const DataConfig& config, const Folder& folder, const char* train,
                    const char* val, Category category = Category::data) {
  return message_of(category, [&] { with_validation(config, folder, train, val); });
}

// Writes arrays of a part: samples of one feature and their labels.
void write_arrays(const std::filesystem::path& folder, const char* part,
                  const std::vector<float>& x, const std::vector<int32_t>& labels) {
  write_npy(folder / fmt::format("x_{}.npy", part), "<f4", fmt::format("({}, 1)", x.size()), x);
  write_npy(folder / fmt::format("y_{}.npy", part), "<i4", fmt::format("({},)", x.size()), labels);
}

// Features that cannot be read do not matter where labels alone are.
TEST_F(Validation, LabelsOfOtherFilesAreReadWithoutTheirSamples) {
  for (auto [set, x] : {std::pair("set", 1.0f), {"other", NAN}}) {
    write_arrays(folder_ / set, "train", {x, 2, x}, {0, 1, 2});
    write_arrays(folder_ / set, "test", {x, 2, x}, {2, 1, 0});
  }
  DatasetPair data = with_validation(data_at("npy", ""), folder_, "set", "other");
  std::vector<int32_t> labels(6), some(3);
  data.val->read_labels(0, labels);
  EXPECT_THAT(labels, testing::ElementsAre(0, 1, 2, 2, 1, 0));
  data.val->read_labels(2, some);
  EXPECT_THAT(some, testing::ElementsAre(2, 2, 1));
  EXPECT_EQ(data.val->layout().size(), 4u);
}

// Folders a, b and c of training images; b and c alone in the validation data.
TEST_F(Validation, FoldersMayLackClasses) {
  auto put = [&](const std::string& name) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    write_png(folder_ / name, {2, 2, 3, Bytes(12, 200)});
  };
  for (const char* name :
       {"data/train/a", "data/train/b", "data/train/c", "data/val/a", "some/train/b", "some/val/c"})
    put(std::string(name) + "/1.png");
  DataConfig config = data_at("image_folder", "");
  config.image.size = 2;
  DatasetPair data = with_validation(config, folder_, "data", "some");
  EXPECT_EQ(data.val->spec().class_names, data.train->spec().class_names);
  EXPECT_EQ(read_all<int32_t>(*data.val, 1), (std::vector<int32_t>{1, 2}));
  EXPECT_THAT(data.notes, testing::IsEmpty());
  put("some/val/d/1.png");
  EXPECT_THAT(refusal(config, folder_, "data", "some"),
              HasSubstr("folder 'd' is not a class, because train has no folder of that name"));
}

// Labels 1 and 2 alone, where the largest training label gives three classes; 3 is a broken sample.
TEST_F(Validation, LabelsOfArraysMayLackClasses) {
  auto put = [&](const std::string& name, const std::vector<int32_t>& labels) {
    for (const char* part : {"train", "test"})
      write_arrays(folder_ / name, part, std::vector<float>(labels.size(), 1), labels);
  };
  put("data", {0, 1, 2});
  put("some", {0, 1});
  DataConfig config = data_at("npy", "");
  DatasetPair data = with_validation(config, folder_, "data", "some");
  EXPECT_EQ(data.val->spec().classes, 3);
  EXPECT_EQ(read_all<int32_t>(*data.val, 1), (std::vector<int32_t>{0, 1, 0, 1}));
  put("some", {0, 3});
  data = with_validation(config, folder_, "data", "some");
  EXPECT_THAT(message_of(Category::data, [&] { read_all<int32_t>(*data.val, 1); }),
              HasSubstr("y_train.npy: sample 1: label 3, expected 0 to 2"));
}

// Names that an HDF5 file gives its classes are matched with those of the training data.
TEST_F(Validation, NamedClassesMayLackInAnyOrder) {
  auto put = [&](const std::string& name, const std::vector<const char*>& classes,
                 const std::vector<int32_t>& labels) {
    write_parts(folder_ / name, [&](Hdf5File& file, const std::string& part) {
      file.put(part + "features", {labels.size(), 1}, std::vector<float>(labels.size(), 1));
      file.put(part + "labels", {labels.size()}, labels);
      file.words(part + "labels", "class_names", classes);
    });
  };
  put("data.h5", {"ant", "bee", "cat"}, {0, 1, 2});
  put("some.h5", {"cat", "ant"}, {0, 1, 0});
  DataConfig config = data_at("hdf5", "");
  DatasetPair data = with_validation(config, folder_, "data.h5", "some.h5");
  EXPECT_EQ(data.val->spec().class_names, data.train->spec().class_names);
  EXPECT_EQ(data.val->spec().classes, 3);
  EXPECT_EQ(read_all<int32_t>(*data.val, 1), (std::vector<int32_t>{2, 0, 2, 2, 0, 2}));
  put("other.h5", {"cat", "dog"}, {0, 1, 0});
  EXPECT_THAT(refusal(config, folder_, "data.h5", "other.h5"),
              HasSubstr("only in the data: 'dog'; only in the checkpoint: 'ant', 'bee'"));
}

TEST_F(Validation, TablesMayLackClasses) {
  auto put = [&](const std::string& name, const std::vector<std::string>& kinds) {
    std::string text = "x,kind\n";
    for (int i = 0; i < 60; ++i) text += fmt::format("{},{}\n", i, kinds[i % kinds.size()]);
    write_text(folder_ / name, text);
  };
  put("data.csv", {"ant", "bee", "cat"});
  put("some.csv", {"cat"});
  DataConfig config = data_at("csv", "");
  DatasetPair data = with_validation(config, folder_, "data.csv", "some.csv");
  EXPECT_EQ(data.val->spec().class_names, data.train->spec().class_names);
  EXPECT_EQ(read_all<int32_t>(*data.val, 1), std::vector<int32_t>(60, 2));
  put("some.csv", {"cat", "dog"});
  EXPECT_THAT(refusal(config, folder_, "data.csv", "some.csv"),
              HasSubstr("the target 'dog' is not one of the 3 classes of the training rows"));
  config.on_error = DataConfig::OnError::skip;
  EXPECT_EQ(with_validation(config, folder_, "data.csv", "some.csv").val->count(), 30);
}

// What chooses the best checkpoint is no test of it.
TEST_F(Validation, FilesOfTheTestDataAreRefused) {
  std::string text = "x,kind\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("{},{}\n", i, i % 2 ? "ant" : "bee");
  for (const char* name : {"train.csv", "test.csv", "other.csv"}) write_text(folder_ / name, text);
  std::filesystem::create_symlink(folder_ / "test.csv", folder_ / "link.csv");
  DataConfig config = data_at("csv", "");
  for (const char* name : {"test.csv", "./test.csv", "link.csv"})
    EXPECT_THAT(refusal(config, folder_, "", name, Category::config),
                HasAll("data.val.path: ", "is test data of this run"))
        << name;
  EXPECT_EQ(with_validation(config, folder_, "", "other.csv").val->count(), 60);
  EXPECT_THAT(refusal(config, folder_, "other.csv", "other.csv", Category::config),
              HasSubstr("is test data of this run"));
}

TEST_F(Validation, TextMayHaveOtherCharacters) {
  std::string text, other;
  for (int i = 0; i < 40; ++i) text += "abc ", other += "cab!";
  write_text(folder_ / "data.txt", text);
  write_text(folder_ / "some.txt", other);
  DataConfig config = data_at("tokens", "");
  config.tokens = {.length = 4,
                   .text = {"data.txt"},
                   .vocabulary = TokensConfig::Vocabulary::characters,
                   .val_share = 0.2};
  DatasetPair data = with_validation(config, folder_, "data.txt", "some.txt");
  EXPECT_EQ(data.val->spec().vocabulary, data.train->spec().vocabulary);
  EXPECT_EQ(read_column<int32_t>(*data.val, 0, {0}), (std::vector<int32_t>{3, 1, 2, 3}));
  EXPECT_THAT(data.notes, testing::ElementsAre(testing::EndsWith(
                              "some.txt: 40 characters left out, as the training data's vocabulary "
                              "lacks them")));
  write_text(folder_ / "some.txt", "!!!!");
  EXPECT_THAT(
      refusal(config, folder_, "data.txt", "some.txt"),
      HasSubstr("some.txt: the vocabulary of the training data has none of its characters"));
}

// Every second row is broken; the number of each good one is its value.
TEST_F(Validation, BrokenSamplesAreReplacedWithinTheirPart) {
  constexpr int64_t rows = 64;
  std::vector<float> x;
  std::vector<int32_t> y;
  for (int64_t i = 0; i < rows; ++i) {
    x.push_back(i % 2 == 0 ? NAN : static_cast<float>(i));
    y.push_back(0);
  }
  y[1] = 1;
  for (const char* part : {"train", "test"}) write_arrays(folder_.path(), part, x, y);
  DataConfig config = data_at("npy", folder_.path());
  config.on_error = DataConfig::OnError::skip;
  config.val.share = 0.4;
  DatasetPair data = open_dataset(config, {});
  ValidationSplit split = split_validation(*data.train, 0.4);
  const Normalization by = data.train->spec().normalization;
  hold_out_validation(config, nullptr, data);
  auto expect_within = [&](const Dataset& part, const std::vector<int64_t>& samples) {
    for (int64_t i = 0; i < part.count(); ++i) {
      double value = read_column<float>(part, 0, {i})[0] * by.stddev[0] + by.mean[0];
      auto row = std::llround(value);
      EXPECT_TRUE(std::ranges::binary_search(samples, row)) << i << ": " << row;
      int64_t own = samples[static_cast<size_t>(i)];
      EXPECT_TRUE(own % 2 == 0 || row == own) << i << ": " << row;
    }
  };
  expect_within(*data.train, split.train);
  expect_within(*data.val, split.val);
}

TEST_F(Validation, NeedsSamplesInBothParts) {
  ImageDataset data = readable(of_three_classes(3));
  EXPECT_THAT(message_of(Category::config, [&] { split_validation(data, 0.01); }),
              HasSubstr("data.val.share: 0.01 of 3 training samples leaves none for validation"));
  EXPECT_THAT(message_of(Category::config, [&] { split_validation(data, 0.99); }),
              HasSubstr("leaves none for training"));
}

TEST_F(Validation, RefusesMoreSamplesThanItCanDivide) {
  DataConfig config;
  config.name = "synthetic";
  config.synthetic.samples = 1'000'000'000'000;
  DatasetPair pair = open_dataset(config, {});
  EXPECT_THAT(
      message_of(Category::config, [&] { split_validation(*pair.train, 0.5); }),
      HasSubstr("data.val.share: divides 536870912 samples at most, as it draws and keeps the "
                "number of each, and there are 1000000000000"));
}

// No token of a validation window is a token or target of a training window, whatever its offset.
TEST_F(Validation, TokensOfItsWindowsAreInNoTrainingWindow) {
  std::vector<int32_t> ids(1000);
  std::iota(ids.begin(), ids.end(), 0);
  auto open = [&](TokenDataset::Offset offset) {
    auto dataset = [&](TokenDataset::Offset each) {
      return std::make_unique<TokenDataset>(sequence_of(ids, 1000), 4, each, 9, "", 1000);
    };
    return DatasetPair{dataset(offset), dataset(TokenDataset::Offset::none)};
  };
  DataConfig config;
  config.val.share = 0.1;
  DatasetPair data = open(TokenDataset::Offset::by_epoch);
  hold_out_validation(
      config, [&] { return open(TokenDataset::Offset::none); }, data);
  ASSERT_GE(data.val->count(), 16);
  std::set<int32_t> held_out;
  for (int64_t i = 0; i < data.val->count(); ++i)
    for (int32_t id : read_column<int32_t>(*data.val, 0, {i}, 0)) held_out.insert(id);
  EXPECT_EQ(std::ssize(held_out), data.val->count() * 4);
  for (int64_t epoch = 0; epoch < 12; ++epoch)
    for (int64_t i = 0; i < data.train->count(); ++i)
      for (int32_t id : read_column<int32_t>(*data.train, 0, {i}, epoch))
        EXPECT_FALSE(held_out.contains(id)) << id;
}

}  // namespace
}  // namespace spire
