// Which names are training, validation and test data, and how each format reads these.
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/dataset_tools.h>

#include "engine/data/part_names.h"
#include "tests/data/formats/tar_files.h"
#include "tests/data/images/image_files.h"
#include "tests/data/numpy/npy_files.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

TEST(PartNames, MeanPartsInAnyCase) {
  for (const char* name : {"train", "Training", "TRAIN"}) EXPECT_EQ(part_named(name), Part::train);
  for (const char* name : {"val", "valid", "Validation", "DEV"})
    EXPECT_EQ(part_named(name), Part::val);
  for (const char* name : {"test", "Testing"}) EXPECT_EQ(part_named(name), Part::test);
  for (const char* name : {"", "trains", "tests", "train1", "cat", "value"})
    EXPECT_EQ(part_named(name), std::nullopt) << name;
}

TEST(PartNames, AreWordsOfLongerNames) {
  EXPECT_EQ(part_word("train-000.tar"), "train");
  EXPECT_EQ(part_word("train000.tar"), "train");
  EXPECT_EQ(part_word("set1_Valid.tar"), "Valid");
  EXPECT_EQ(part_word("trainer-000.tar"), "");
  EXPECT_EQ(part_word(""), "");
}

TEST(PartNames, ValidationIsOfItsOwnBesideTest) {
  PartNames three = choose_parts("data", {"Testing", "Training", "more", "valid"}, {});
  EXPECT_EQ(three.train, "Training");
  EXPECT_EQ(three.val, "valid");
  EXPECT_EQ(three.test, "Testing");
  EXPECT_THAT(three.others, ElementsAre("more"));
  EXPECT_THAT(three.notes, IsEmpty());
  PartNames two = choose_parts("data", {"train", "val"}, {});
  EXPECT_EQ(two.val, "");
  EXPECT_EQ(two.test, "val");
  EXPECT_FALSE(two.none());
  EXPECT_TRUE(choose_parts("data", {"cat"}, {}).none());
}

TEST(PartNames, WhatIsNotReadIsNoted) {
  PartNames twice = choose_parts("data", {"Val", "dev", "test", "train", "val"}, {});
  EXPECT_EQ(twice.val, "val");
  EXPECT_THAT(twice.notes, ElementsAre("data: 'Val', 'dev' not read, as 'val' is the validation "
                                       "data; leave one of them there"));
  PartNames share = choose_parts("data", {"test", "train", "val"}, {.share = 0.1});
  EXPECT_EQ(share.val, "");
  EXPECT_EQ(share.test, "test");
  EXPECT_THAT(share.notes, ElementsAre("data: 'val' not read, as data.val.share gives the "
                                       "validation data; leave that out to use it"));
  EXPECT_EQ(choose_parts("data", {"test", "train", "val"}, {.path = "other"}).notes.size(), 1u);
}

TEST(PartNames, FilesMayHaveEndings) {
  auto stem = [](const std::string& name) { return name.substr(0, name.find('.')); };
  PartNames files = choose_parts("data", {"Dev.csv", "test.csv.gz", "train.csv"}, {}, stem);
  EXPECT_EQ(files.train, "train.csv");
  EXPECT_EQ(files.val, "Dev.csv");
  EXPECT_EQ(files.test, "test.csv.gz");
}

class Parts : public testing::Test {
 protected:
  void put(const std::string& name, const Bytes& bytes) { write_file(folder_ / name, bytes); }
  void put_image(const std::string& name, int64_t seed) {
    put(name, png_bytes(smooth_image(8, 8, seed)));
  }
  // Images of classes a and b in folders of these names: 3, 2 and 1 of each class.
  void put_folders(const std::string& train, const std::string& val, const std::string& test) {
    int64_t count = 3;
    for (const std::string& part : {train, val, test}) {
      for (const char* kind : {"a", "b"})
        for (int64_t i = 0; i < count; ++i)
          put_image(fmt::format("{}/{}/{}.png", part, kind, i), 7 * count + i);
      --count;
    }
  }
  void put_shard(const std::string& name, int64_t samples) {
    std::vector<Bytes> members;
    for (int64_t i = 0; i < samples; ++i) {
      members.push_back(tar_member(fmt::format("{}.png", i), png_bytes(smooth_image(8, 8, i))));
      members.push_back(tar_text(fmt::format("{}.cls", i), std::to_string(i % 2)));
    }
    put(name, tar_of(members));
  }
  DatasetPair open_as(const std::string& name, const ReadOptions& options = {}) {
    config_.data.name = name;
    config_.data.path = folder_.path().string();
    config_.data.image.size = 8;
    return open_dataset(config_.data, options);
  }
  // The samples of data without parts as a model that was trained on other data is tested on them.
  void expect_all_tested(const std::string& name, int64_t samples, const std::string& note) {
    DatasetPair all = open_as(name, {.all_test = true});
    EXPECT_THAT(counts(all), ElementsAre(samples, 0, samples)) << name;
    EXPECT_THAT(all.notes, Contains(HasAll(note, "as the run was trained on other data")));
    EXPECT_LT(open_as(name).test->count(), samples) << name;
  }
  static std::vector<int64_t> counts(const DatasetPair& data) {
    return {data.train->count(), data.val ? data.val->count() : 0, data.test->count()};
  }

  Folder folder_;
  RunConfig config_;
};

TEST_F(Parts, OfImageFoldersAreFolders) {
  put_folders("train", "val", "test");
  DatasetPair data = open_as("image_folder");
  EXPECT_THAT(counts(data), ElementsAre(6, 4, 2));
  EXPECT_THAT(data.notes, IsEmpty());
  EXPECT_EQ(data.val->files().front(), folder_ / "val/a/0.png");
  EXPECT_EQ(data.test->files().front(), folder_ / "test/a/0.png");
  config_.data.val.share = 0.5;
  EXPECT_THAT(open_as("image_folder").notes,
              ElementsAre(HasSubstr("'val' not read, as data.val.share gives the validation")));
  config_.data.val.share = 0;
  fs::rename(folder_ / "test", folder_ / "extra");
  DatasetPair two = open_as("image_folder");
  EXPECT_THAT(counts(two), ElementsAre(6, 0, 4));
  EXPECT_THAT(two.notes, ElementsAre(HasSubstr("folder not read: 'extra'")));
}

TEST_F(Parts, OfImageFoldersHaveOtherNamesInAnyCaseToo) {
  put_folders("Training", "Valid", "TESTING");
  EXPECT_THAT(counts(open_as("image_folder")), ElementsAre(6, 4, 2));
}

TEST_F(Parts, TestImagesWithoutClassesAreNotRead) {
  put_folders("train", "dev", "other");
  fs::remove_all(folder_ / "other");
  put_image("test/1.png", 1);
  DatasetPair data = open_as("image_folder");
  EXPECT_THAT(counts(data), ElementsAre(6, 0, 4));
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("'test' not read, as it has no folders of classes; "
                                                "'dev' is the test data")));
}

TEST_F(Parts, OfAllClassesAreNoParts) {
  put_folders("cat", "dev", "dog");
  EXPECT_THAT(message_of(Category::data, [&] { open_as("image_folder"); }),
              HasSubstr("has a folder 'dev', but none of training images; name theirs train, or if "
                        "'dev' is a class, give it another name"));
}

TEST_F(Parts, OfPairsAreFoldersOrLists) {
  for (const char* part : {"train", "validation", "test"})
    for (const char* half : {"input", "target"})
      put_image(fmt::format("{}/{}/1.png", part, half), part[0]);
  DatasetPair folders = open_as("image_pairs");
  EXPECT_THAT(counts(folders), ElementsAre(1, 1, 1));
  EXPECT_EQ(folders.val->files().front(), folder_ / "validation/input/1.png");
  fs::remove_all(folder_ / "test/target");
  EXPECT_THAT(open_as("image_pairs").notes, ElementsAre(HasSubstr("it has no folder target")));
  for (const char* part : {"train", "validation", "test"})
    fs::rename(folder_ / part, folder_ / (std::string("set_") + part));
  for (const char* name : {"Train.csv", "dev.csv", "test.csv"})
    std::ofstream(folder_ / name) << "set_train/input/1.png,set_train/target/1.png\n";
  EXPECT_THAT(counts(open_as("image_pairs")), ElementsAre(1, 1, 1));
}

TEST_F(Parts, OfTablesAreFiles) {
  for (const char* name : {"Training.csv", "validation.csv", "TEST.CSV"})
    write_text(folder_ / name, "a,y\n1,x\n0.5,y\n");
  DatasetPair data = open_as("csv");
  EXPECT_THAT(data.train->files(), ElementsAre(folder_ / "Training.csv"));
  EXPECT_THAT(data.val->files(), ElementsAre(folder_ / "validation.csv"));
  EXPECT_THAT(data.test->files(), ElementsAre(folder_ / "TEST.CSV"));
  EXPECT_EQ(data.val->spec(), data.train->spec());
  EXPECT_THAT(data.notes, IsEmpty());
  config_.data.val.share = 0.5;
  EXPECT_THAT(open_as("csv").notes,
              ElementsAre(HasSubstr("'validation.csv' not read, as data.val.share")));
  config_.data.val.share = 0;
  fs::remove(folder_ / "TEST.CSV");
  DatasetPair two = open_as("csv");
  EXPECT_EQ(two.val, nullptr);
  EXPECT_THAT(two.test->files(), ElementsAre(folder_ / "validation.csv"));
}

TEST_F(Parts, OfShardsAreFoldersOrWords) {
  put_shard("set-train-0.tar", 4);
  put_shard("set-train-1.tar", 2);
  put_shard("set-val-0.tar", 3);
  put_shard("set-test-0.tar", 2);
  put_shard("more.tar", 2);
  DatasetPair words = open_as("webdataset");
  EXPECT_THAT(counts(words), ElementsAre(6, 3, 2));
  EXPECT_THAT(words.notes, ElementsAre(HasAll("1 shard not read", "more.tar")));
  put_shard("train/0.tar", 2);
  put_shard("valid/0.tar", 2);
  put_shard("test/0.tar", 4);
  EXPECT_THAT(counts(open_as("webdataset")), ElementsAre(2, 2, 4));
}

TEST_F(Parts, OfArraysAreWords) {
  for (auto [part, rows] : {std::pair("train", 4), std::pair("valid", 3), std::pair("test", 2)}) {
    write_npy(folder_ / fmt::format("x_{}.npy", part), "<f4", fmt::format("({}, 1)", rows),
              std::vector<float>{1, 2, 3, 4});
    write_npy(folder_ / fmt::format("y_{}.npy", part), "|u1", fmt::format("({},)", rows),
              Bytes{0, 1, 0, 1});
  }
  EXPECT_THAT(counts(open_as("npy")), ElementsAre(4, 3, 2));
  fs::remove(folder_ / "x_test.npy");
  EXPECT_THAT(counts(open_as("npy")), ElementsAre(4, 0, 3));
}

TEST_F(Parts, OfNoNameAreAllTestDataOfAModelThatIsTrained) {
  for (int i = 0; i < 20; ++i)
    for (const char* place : {"a", "b"}) put_image(fmt::format("{}/{}.png", place, i), i);
  expect_all_tested("image_folder", 40, "all 40 images count as test data");
  fs::rename(folder_ / "a", folder_ / "input");
  fs::rename(folder_ / "b", folder_ / "target");
  expect_all_tested("image_pairs", 20, "data.pairs.test_share=0.1 keeps a tenth");
  put_shard("0.tar", 20);
  expect_all_tested("webdataset", 20, "data.image.test_share=0.1");
  std::vector<float> values(30, 1);
  write_npy(folder_ / "x_train.npy", "<f4", "(30, 1)", values);
  write_npy(folder_ / "y_train.npy", "|u1", "(30,)", Bytes(30, 1));
  expect_all_tested("npy", 30, "all 30 rows count as test data");
  std::ofstream table(folder_ / "train.csv");
  table << "a,y\n";
  for (int i = 0; i < 30; ++i) table << i << ".5," << (i % 2 ? "x\n" : "z\n");
  table.close();
  expect_all_tested("csv", 30, "all 30 rows count as test data");
  std::ofstream(folder_ / "text.txt") << std::string(170, 'a');
  config_.data.tokens.text = {(folder_ / "text.txt").string()};
  config_.data.tokens.vocabulary = TokensConfig::Vocabulary::bytes;
  config_.data.tokens.length = 8;
  config_.data.tokens.val_share = 0.2;
  DatasetPair text = open_as("tokens", {.as_evaluation = true, .all_test = true});
  EXPECT_EQ(text.test->count(), text.train->count());
  EXPECT_GE(text.test->count(), 20);
  EXPECT_THAT(text.notes, Contains(HasSubstr("all 170 tokens count as test data")));
  // Where files are named as test data, these are read.
  write_npy(folder_ / "x_test.npy", "<f4", "(2, 1)", std::vector<float>{1, 2});
  write_npy(folder_ / "y_test.npy", "|u1", "(2,)", Bytes{1, 1});
  EXPECT_THAT(counts(open_as("npy", {.all_test = true})), ElementsAre(30, 0, 2));
}

// A converted dataset keeps its three parts, with their rows.
TEST_F(Parts, StayInHdf5) {
  put_folders("train", "val", "test");
  DatasetPair source = open_as("image_folder");
  ConvertOptions options;
  options.to = folder_ / "out.h5";
  options.order = "source";
  ConvertResult result = convert_dataset(config_, options);
  EXPECT_THAT((std::vector{result.train, result.val, result.test}), ElementsAre(6, 4, 2));
  DatasetDescription facts = describe_dataset(config_.data);
  EXPECT_EQ(facts.val.samples, 4);
  EXPECT_THAT(facts.val.class_counts, ElementsAre(2, 2));
  DataConfig converted = data_at("hdf5", options.to);
  DatasetPair data = open_dataset(converted, {});
  EXPECT_THAT(counts(data), ElementsAre(6, 4, 2));
  EXPECT_THAT(data.notes, testing::Each(testing::Not(HasSubstr("not used"))));
  EXPECT_EQ(read_column<float>(*data.val, 0, {0, 1, 2, 3}),
            read_column<float>(*source.val, 0, {0, 1, 2, 3}));
  EXPECT_EQ(read_column<int32_t>(*data.val, 1, {0, 1, 2, 3}), (std::vector<int32_t>{0, 0, 1, 1}));
  RunConfig verified;
  verified.data = converted;
  EXPECT_EQ(verify_dataset(verified, {}).val.rows, 4);
}

}  // namespace
}  // namespace spire
