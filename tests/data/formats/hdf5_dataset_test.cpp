// HDF5 files as datasets: order, columns, normalization, corrupt rows.
#include <cmath>
#include <cstring>
#include <limits>
#include <sys/file.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/config/words.h"
#include "engine/data/loader.h"
#include "tests/data/formats/hdf5_splits.h"
#include "tests/data/numbered.h"

namespace spire {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// The bytes of a batch do not depend on the storage: chunked, compressed or in memory.
TEST_F(Hdf5Dataset, GivesTheBatchesOfTheSameImagesInMemory) {
  LabelledImages images = numbered(53, side);
  for (hsize_t chunk : {0, 1, 7, 53}) {
    for (unsigned gzip : {0u, 4u}) {
      if (gzip > 0 && chunk == 0) continue;  // HDF5 compresses chunks only
      write_images(folder_ / "a.h5", 53, chunk, gzip);
      for (DType dtype : {DType::f32, DType::bf16}) {
        DataConfig config = config_of(folder_ / "a.h5");
        config.augment = {2, true};
        config.shuffle = DataConfig::Shuffle::full;
        DatasetPair pair = open_dataset(config, {dtype, 77});
        ImageDataset expected(images, normalization_of(images), config.augment, {dtype, 77});
        EXPECT_EQ(pair.train->spec().columns, expected.spec().columns);
        EXPECT_EQ(pair.train->spec().classes, 53);
        for (int64_t workers : {0, 1, 3})
          EXPECT_EQ(batches_of(*pair.train, options_of(4, 2, workers)),
                    batches_of(expected, options_of(4, 2, 0)))
              << "chunk " << chunk << ", " << workers << " workers";
      }
    }
  }
}

// With chunks of 3 and a global batch of 6 rows, each step of a window reads rows of its chunks.
TEST_F(Hdf5Dataset, OrderKeepsChunksTogetherUnlessAskedOtherwise) {
  write_images(folder_ / "a.h5", 20, 3);
  DataConfig config = config_of(folder_ / "a.h5");
  EXPECT_EQ(open_dataset(config, {}).train->chunk(), 3);
  config.shuffle = DataConfig::Shuffle::chunk;
  EXPECT_EQ(open_dataset(config, {}).train->chunk(), 3);
  config.shuffle = DataConfig::Shuffle::full;
  EXPECT_EQ(open_dataset(config, {}).train->chunk(), 1);
  EXPECT_EQ(readable(numbered(5)).chunk(), 1);
}

TEST_F(Hdf5Dataset, FeaturesAreStandardized) {
  write_splits<double, int32_t>(folder_ / "a.h5", {4, 2}, {1, 5, 3, 5, 1, 5, 3, 5}, {4},
                                {0, 1, 2, 1});
  DatasetPair pair = open_dataset(config_of(folder_ / "a.h5"), {});
  const SampleSpec& spec = pair.train->spec();
  EXPECT_THAT(spec.columns,
              ElementsAre(Column{"features", {2}, DType::f32}, Column{"labels", {}, DType::i32}));
  EXPECT_EQ(spec.classes, 3);
  EXPECT_THAT(spec.normalization.mean, ElementsAre(2, 5));
  EXPECT_THAT(spec.normalization.stddev, ElementsAre(1, 1));  // the second is constant
  EXPECT_THAT(read_column<float>(*pair.train, 0, {2}), ElementsAre(-1, 0));
  EXPECT_THAT(read_column<int32_t>(*pair.train, 1, {2}), ElementsAre(2));
}

TEST_F(Hdf5Dataset, FloatTargetsAreValuesOfARegression) {
  write_splits<int64_t, double>(folder_ / "a.h5", {3, 1}, {0, 1, 2}, {3}, {0.5, 1.5, -2});
  DatasetPair pair = open_dataset(config_of(folder_ / "a.h5"), {});
  EXPECT_EQ(pair.train->spec().columns[1], (Column{"values", {1}, DType::f32}));
  EXPECT_EQ(pair.train->spec().classes, 0);
  EXPECT_THAT(read_column<float>(*pair.test, 1, {2}), ElementsAre(-2));
  write_splits<float, float>(folder_ / "b.h5", {2, 1}, {0, 1}, {2, 2}, {1, 2, 3, 4});
  DatasetPair two = open_dataset(config_of(folder_ / "b.h5"), {});
  EXPECT_EQ(two.train->spec().columns[1], (Column{"values", {2}, DType::f32}));
  EXPECT_THAT(read_column<float>(*two.train, 1, {1}), ElementsAre(3, 4));
}

// Writes 12 rows of `input` and `target` to both splits and opens them. Returns the target column's
// name, or the error.
template <typename In, typename Out>
std::string column_or_error(const std::string& input, hsize_t inputs, const std::string& target,
                            hsize_t targets, const std::vector<Out>& values,
                            const std::string& task = "auto") {
  Folder folder;
  std::vector<In> in(12 * inputs);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<In>(i * 7 % 31);
  std::vector<hsize_t> target_dims = {12};
  if (targets > 1) target_dims.push_back(targets);
  write_parts(folder / "a.h5", [&](Hdf5File& file, const std::string& part) {
    file.put(part + input, {12, inputs}, in);
    file.put(part + target, target_dims, values);
  });
  DataConfig config = config_of(folder / "a.h5");
  config.hdf5.train = {"train/" + input, "train/" + target};
  config.hdf5.test = {"test/" + input, "test/" + target};
  config.hdf5.task = *find_word<TargetKind>(task);
  try {
    return open_dataset(config, {}).train->spec().columns[1].name;
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::data);
    return error.what();
  }
}

// Return 12 labels 0, 1, 2, 0, 1, ..., and the same as one-hot rows.
template <typename T>
std::vector<T> classes_of_three() {
  std::vector<T> labels;
  for (int row = 0; row < 12; ++row) labels.push_back(static_cast<T>(row % 3));
  return labels;
}
template <typename T>
std::vector<T> one_hot_of_three() {
  std::vector<T> rows(36);
  for (size_t row = 0; row < 12; ++row) rows[row * 3 + row % 3] = 1;
  return rows;
}

TEST_F(Hdf5Dataset, FloatingPointLabelsAreRefused) {
  auto floats = classes_of_three<float>();
  auto doubles = classes_of_three<double>();
  auto one_hot = one_hot_of_three<float>();
  constexpr const char* way_out = "data.hdf5.task: value";
  for (const std::string& message :
       {column_or_error<float>("features", 4, "labels", 1, floats),
        column_or_error<float>("features", 4, "labels", 1, doubles),
        column_or_error<float>("features", 4, "labels", 1, std::vector<float>(12, 0.5f)),
        column_or_error<float>("features", 4, "labels", 3, one_hot),
        column_or_error<float>("x", 4, "y", 1, floats)})
    EXPECT_THAT(message, HasAll(".h5: train/", "store classes as integers", way_out));
  for (const char* name : {"values", "y"})
    EXPECT_THAT(column_or_error<float>("features", 4, name, 3, one_hot),
                HasAll("argmax(axis=1)", way_out));
  for (const auto& message : {column_or_error<float>("features", 4, "labels", 1, floats, "value"),
                              column_or_error<float>("features", 4, "labels", 3, one_hot, "value"),
                              column_or_error<float>("features", 4, "values", 1, floats)})
    EXPECT_EQ(message, "values");
  std::vector<float> measured = floats;
  measured[7] = 0.5;
  EXPECT_EQ(column_or_error<float>("x", 4, "y", 1, measured), "values");
  std::vector<float> nearly = one_hot;
  nearly[30] = 0.5;
  EXPECT_EQ(column_or_error<float>("x", 4, "y", 3, nearly), "values");
}

TEST_F(Hdf5Dataset, IntegersThatAreNotLabelsAreRefused) {
  EXPECT_THAT(column_or_error<float>("features", 4, "labels", 3, one_hot_of_three<int32_t>()),
              HasSubstr("argmax(axis=1)"));
  EXPECT_THAT(column_or_error<int32_t>("features", 3, "labels", 3, one_hot_of_three<int32_t>()),
              HasSubstr("argmax(axis=1)"));
  EXPECT_THAT(column_or_error<float>("features", 3, "labels", 3, one_hot_of_three<int32_t>()),
              HasSubstr("argmax(axis=1)"));
  std::vector<int32_t> prices;
  for (int row = 0; row < 12; ++row) prices.push_back(100 + row * 37);
  EXPECT_THAT(column_or_error<float>("features", 4, "price", 1, prices),
              HasAll("hardly classes", "data.hdf5.task: class"));
  EXPECT_EQ(column_or_error<float>("features", 4, "price", 1, prices, "class"), "labels");
  EXPECT_EQ(column_or_error<float>("features", 4, "labels", 1, prices), "labels");
  EXPECT_THAT(column_or_error<float>("features", 4, "labels", 1, prices, "value"),
              HasSubstr("needs floating-point numbers"));
}

TEST_F(Hdf5Dataset, TokensMayHaveLabels) {
  write_parts(folder_ / "a.h5", [&](Hdf5File& file, const std::string& part) {
    file.put<int32_t>(part + "tokens", {2, 3}, {7, 1, 900, 0, 0, 0});
    file.put<int32_t>(part + "labels", {2, 1}, {1, 0});
  });
  DatasetPair pair = open_dataset(config_of(folder_ / "a.h5"), {});
  EXPECT_THAT(pair.train->spec().columns,
              ElementsAre(Column{"tokens", {3}, DType::i32}, Column{"labels", {}, DType::i32}));
  EXPECT_THAT(read_column<int32_t>(*pair.train, 0, {0}), ElementsAre(7, 1, 900));
  EXPECT_THAT(read_column<int32_t>(*pair.train, 1, {0, 1}), ElementsAre(1, 0));
  EXPECT_THAT(column_or_error<float>("tokens", 64, "labels", 1, classes_of_three<int64_t>()),
              HasAll("train/tokens: tokens are integers", "data.hdf5.task: class"));
}

TEST_F(Hdf5Dataset, ImagesOf16BitsOrFloatsAreNormalizedInTheirUnit) {
  write_splits<uint16_t, int32_t>(folder_ / "a.h5", {2, 1, 2, 1}, {0, 65535, 65535, 0}, {2},
                                  {0, 1});
  DatasetPair words = open_dataset(config_of(folder_ / "a.h5"), {});
  EXPECT_THAT(words.train->spec().normalization.mean, ElementsAre(0.5));
  EXPECT_THAT(read_column<float>(*words.train, 0, {0}), ElementsAre(-1, 1));
  write_splits<float, int32_t>(folder_ / "b.h5", {2, 1, 2}, {2, 4, 4, 2}, {2}, {0, 1});
  DatasetPair floats = open_dataset(config_of(folder_ / "b.h5"), {});
  EXPECT_THAT(floats.train->spec().columns[0], (Column{"images", {1, 2, 1}, DType::f32}));
  EXPECT_THAT(floats.train->spec().normalization.mean, ElementsAre(3));
  EXPECT_THAT(read_column<float>(*floats.train, 0, {0}), ElementsAre(-1, 1));
}

TEST_F(Hdf5Dataset, SequencesAndTheScaleOfValues) {
  write_parts(folder_ / "a.h5", [&](Hdf5File& file, const std::string& part) {
    file.put<float>(part + "features", {2, 2, 2}, {1, 5, 3, 5, 1, 5, 3, 5});
    file.put<float>(part + "values", {2}, {100.5, 300.5});
    if (part != "train/") return;
    file.attribute<double>(part + "values", "mean", {200});
    file.attribute<double>(part + "values", "stddev", {100});
  });
  DatasetPair pair = open_dataset(config_of(folder_ / "a.h5"), {});
  EXPECT_THAT(pair.train->spec().columns[0], (Column{"features", {2, 2}, DType::f32}));
  EXPECT_THAT(read_column<float>(*pair.train, 0, {1}), ElementsAre(-1, 0, 1, 0));
  EXPECT_EQ(pair.train->spec().target_scale, (Normalization{{200}, {100}}));
  EXPECT_THAT(read_column<float>(*pair.train, 1, {1}), ElementsAre(300.5f));
}

TEST_F(Hdf5Dataset, UnusedDatasetsAreNamed) {
  {
    Hdf5File file(folder_ / "a.h5");
    for (const std::string split : {"train/", "test/"}) {
      file.put<float>(split + "features", {2, 1}, {1, 2});
      file.put<int32_t>(split + "labels", {2}, {0, 1});
      file.put<float>(split + "values", {2}, {0.5, 1.5});
    }
    file.put<float>("train/weights", {2}, {1, 1});
    file.put<float>("elsewhere/z", {2}, {1, 1});
  }
  EXPECT_THAT(open_dataset(config_of(folder_ / "a.h5"), {}).notes,
              Contains(HasAll("'test/values', 'train/values', 'train/weights' not used",
                              "'train/features', 'train/labels'")));
  write_images(folder_ / "b.h5", 6, 2);
  EXPECT_THAT(open_dataset(config_of(folder_ / "b.h5"), {}).notes,
              Not(Contains(HasSubstr("not used"))));
}

TEST_F(Hdf5Dataset, IntegersInRowsAreTokens) {
  auto write = [&](bool classes) {
    write_parts(folder_ / "a.h5", [&](Hdf5File& file, const std::string& part) {
      file.put<uint8_t>(part + "images", {2, 3}, {1, 2, 3, 4, 5, 6});
      file.put<int64_t>(part + "labels", {2, 3}, {2, 3, 9, 5, 6, 0});
      if (classes) file.attribute<int32_t>(part + "labels", "classes", {10});
    });
  };
  write(true);
  {
    DatasetPair pair = open_dataset(config_of(folder_ / "a.h5"), {});
    EXPECT_THAT(pair.train->spec().columns,
                ElementsAre(Column{"tokens", {3}, DType::i32}, Column{"targets", {3}, DType::i32}));
    EXPECT_EQ(pair.train->spec().classes, 10);
    EXPECT_THAT(read_column<int32_t>(*pair.train, 0, {0}), ElementsAre(1, 2, 3));
    EXPECT_THAT(read_column<int32_t>(*pair.train, 1, {0}), ElementsAre(2, 3, 9));
  }
  write(false);
  EXPECT_THAT(open_refusal(config_of(folder_ / "a.h5")),
              HasAll("train/labels", "attribute classes"));
}

TEST_F(Hdf5Dataset, DatasetsMayHaveAnyName) {
  {
    Hdf5File file(folder_ / "a.h5");
    file.put<uint8_t>("x", {2, 2, 2}, pattern(8));
    file.put<int32_t>("deep/er/y", {2}, {1, 0});
  }
  DataConfig config = config_of(folder_ / "a.h5");
  config.hdf5.train = config.hdf5.test = {"x", "/deep/er/y"};
  DatasetPair pair = open_dataset(config, {});
  EXPECT_EQ(pair.train->spec().columns[0].shape, Shape({2, 2, 1}));
  config.hdf5.test.target = "deep/er/z";
  EXPECT_THAT(open_refusal(config), HasAll("no dataset 'deep/er/z'", "did you mean 'deep/er/y'",
                                           "it has: 'deep/er/y', 'x'"));
}

TEST_F(Hdf5Dataset, GroupsArePartsByTheirNamesInAnyCase) {
  {
    Hdf5File file(folder_ / "a.h5");
    for (const char* group : {"Test", "TRAIN", "Valid", "extra"}) {
      file.put<uint8_t>(std::string(group) + "/images", {2, 1, 1}, {0, 9});
      file.put<int32_t>(std::string(group) + "/labels", {2}, {1, 0});
    }
  }
  DatasetPair pair = open_dataset(config_of(folder_ / "a.h5"), {});
  EXPECT_THAT(pair.train->layout(), Contains(HasSubstr("TRAIN/images")));
  EXPECT_THAT(pair.val->layout(), Contains(HasSubstr("Valid/images")));
  EXPECT_THAT(pair.test->layout(), Contains(HasSubstr("Test/images")));
  DataConfig config = config_of(folder_ / "a.h5");
  config.hdf5.test.input = "extra/images";  // its labels lie beside it
  EXPECT_THAT(open_dataset(config, {}).test->layout(), Contains(HasSubstr("extra/labels")));
}

// 1.6e9 and 1.6e9 + 1 are equal in fp32.
TEST_F(Hdf5Dataset, LargeFeaturesKeepTheirDigits) {
  write_splits<double, int32_t>(folder_ / "a.h5", {2, 1}, {1.6e9, 1.6e9 + 1}, {2}, {0, 1});
  DatasetPair pair = open_dataset(config_of(folder_ / "a.h5"), {});
  EXPECT_EQ(pair.train->spec().normalization.mean, std::vector{1.6e9 + 0.5});
  write_parts(folder_ / "named.h5", [&](Hdf5File& file, const std::string& part) {
    file.put<double>(part + "features", {2, 1}, {1.6e9, 1.6e9 + 1});
    file.put<int32_t>(part + "labels", {2}, {0, 1});
    if (part != "train/") return;
    file.attribute<double>(part + "features", "mean", {1.6e9});
    file.attribute<double>(part + "features", "stddev", {0.5});
    file.words(part + "features", "feature_names", {"when"});
  });
  DatasetPair named = open_dataset(config_of(folder_ / "named.h5"), {});
  EXPECT_THAT(read_column<float>(*named.train, 0, {1}), ElementsAre(2));
  EXPECT_THAT(named.train->spec().feature_names, ElementsAre("when"));
}

// Each attribute has the wrong number of words, or an unknown one.
TEST_F(Hdf5Dataset, AttributesOfWordsAreChecked) {
  auto refusal = [&](const std::string& input, const char* of, const char* name,
                     const std::vector<const char*>& words) {
    {
      Hdf5File file(folder_ / "a.h5");
      for (const std::string split : {"train", "test"}) {
        file.put<int32_t>(split + "/" + input, {2, 2}, {0, 1, 1, 0});
        file.put<int32_t>(split + "/targets", {2, 2}, {1, 1, 0, 0});
        file.put<int32_t>(split + "/labels", {2}, {0, 1});
        file.attribute<int32_t>(split + "/targets", "classes", {2});
      }
      file.words(of, name, words);
    }
    DataConfig config = config_of(folder_ / "a.h5");
    if (input == "tokens") config.hdf5.train.target = "train/targets";
    if (input == "tokens") config.hdf5.test.target = "test/targets";
    return open_refusal(config);
  };
  EXPECT_THAT(refusal("features", "train/features", "feature_names", {"a", "b", "c"}),
              HasSubstr("train/features: attribute feature_names has 3 names for 2 features"));
  EXPECT_THAT(refusal("tokens", "train/targets", "vocabulary", {"bites"}),
              HasSubstr("train/targets, attribute vocabulary: vocabulary: damaged"));
}

TEST_F(Hdf5Dataset, AFileWithoutKnownNamesListsItsDatasets) {
  { Hdf5File(folder_ / "a.h5").put<uint8_t>("x", {2, 2, 2}, pattern(8)); }
  EXPECT_THAT(open_refusal(config_of(folder_ / "a.h5")),
              HasSubstr("no dataset 'train/images'; it has: 'x'"));
}

TEST_F(Hdf5Dataset, NormalizationIsFromKeysElseAttributesElsePixels) {
  write_images(folder_ / "a.h5", 20, 3);
  LabelledImages images = numbered(20, side);
  DataConfig config = config_of(folder_ / "a.h5");
  Normalization shown = open_dataset(config, {}).train->spec().normalization;
  EXPECT_EQ(shown.mean, normalization_of(images).mean);
  EXPECT_EQ(shown.stddev, normalization_of(images).stddev);
  write_parts(folder_ / "b.h5", [&](Hdf5File& file, const std::string& part) {
    file.put(part + "images", {20, side, side, 1}, images.pixels);
    file.put(part + "labels", {20}, images.labels);
    if (part != "train/") return;
    file.attribute<double>(part + "images", "mean", {0.25});
    file.attribute<float>(part + "images", "stddev", {0.5});
    file.words(part + "labels", "class_names", std::vector<const char*>(20, "shoe"));
  });
  config.path = (folder_ / "b.h5").string();
  const SampleSpec stored = open_dataset(config, {}).test->spec();
  EXPECT_THAT(stored.normalization.mean, ElementsAre(0.25));
  EXPECT_THAT(stored.normalization.stddev, ElementsAre(0.5));
  EXPECT_EQ(stored.class_names, std::vector<std::string>(20, "shoe"));
  config.mean = {0.75}, config.stddev = {2};
  EXPECT_THAT(open_dataset(config, {}).test->spec().normalization.mean, ElementsAre(0.75));
  config.normalize = DataConfig::Normalize::unit;
  EXPECT_THAT(open_dataset(config, {}).test->spec().normalization.stddev, ElementsAre(1));
  config.normalize = DataConfig::Normalize::standard, config.mean = {1, 2};
  EXPECT_THAT(open_refusal(config, Category::config), HasAll("2 and 1 numbers", "1 channels"));
}

// What verify_test.cpp does not ask: a label that ends the run at its start.
TEST_F(Hdf5Dataset, NegativeLabelsAreNamedByFileAndDataset) {
  write_splits<float, int32_t>(folder_ / "b.h5", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, {4},
                               {0, 1, -1, 1});
  EXPECT_THAT(open_refusal(config_of(folder_ / "b.h5")),
              HasSubstr("b.h5: train/labels: labels begin at 0, but 1 of 4 labels are negative"));
}

// Another process may have locked the file.
TEST_F(Hdf5Dataset, TakesNoLock) {
  write_images(folder_ / "a.h5", 20, 3);
  int descriptor = ::open((folder_ / "a.h5").c_str(), O_RDWR);
  ASSERT_EQ(flock(descriptor, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(open_dataset(config_of(folder_ / "a.h5"), {}).train->count(), 20);
  ::close(descriptor);
}

}  // namespace
}  // namespace spire
