// Which names are training, validation and test data.
#include "engine/data/part_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

}  // namespace
}  // namespace spire
