// Verification of every row and checksum, and descriptions of datasets.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <spire/dataset_tools.h>

#include "engine/data/dataset.h"
#include "tests/data/formats/hdf5_files.h"
#include "tests/data/images/image_files.h"
#include "tests/data/test_files.h"
#include "tests/data/text/shard_files.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class VerifyTest : public testing::Test {
 protected:
  VerifyResult verify() { return verify_dataset(config_, {}); }

  // Writes features (6, 2) and values or labels of both splits.
  template <typename T>
  void write_table(const std::vector<float>& features, const std::vector<T>& targets) {
    bool values = std::is_floating_point_v<T>;
    write_parts(folder_ / "a.h5", [&](Hdf5File& file, const std::string& part) {
      file.put<float>(part + "features", {targets.size(), 2}, features);
      file.put<T>(part + (values ? "values" : "labels"), {targets.size()}, targets);
    });
    config_.data = data_at("hdf5", folder_ / "a.h5");
  }
  // Flips a bit where `part`, which the file has once, begins.
  void flip_byte_of(const fs::path& path, const std::string& part) {
    Bytes bytes = file_bytes(path);
    auto found = std::ranges::search(bytes, part);
    ASSERT_NE(found.begin(), bytes.end());
    ASSERT_TRUE(std::ranges::search(std::span(found.end(), bytes.end()), part).empty());
    *found.begin() ^= 1;
    write_file(path, bytes);
  }
  void convert_images() {
    std::string pixels(8 * 16, 'x');
    pixels.replace(5 * 16, 8, "sentinel");
    for (std::string name : {"train", "t10k"}) {
      write_file(folder_ / (name + "-images-idx3-ubyte"),
                 idx_bytes(0x803, {8, 4, 4}, Bytes(pixels.begin(), pixels.end())));
      write_file(folder_ / (name + "-labels-idx1-ubyte"), idx_bytes(0x801, {8}, pattern(8, 4)));
      pixels.replace(5 * 16, 8, "guardian");
    }
    config_.data = data_at("idx", folder_.path());
    convert_dataset(config_, {.to = folder_ / "images.h5"});
    config_.data = data_at("hdf5", folder_ / "images.h5");
  }

  Folder folder_;
  RunConfig config_;
};

TEST_F(VerifyTest, AFlippedByteIsFound) {
  convert_images();
  flip_byte_of(folder_ / "images.h5", "guardian");
  VerifyResult result = verify();
  EXPECT_EQ(result.train.wrong, 0);
  EXPECT_EQ(result.test.wrong, 1);
  EXPECT_EQ(result.test.bad, 0);
  ASSERT_THAT(result.test.problems, SizeIs(1));
  EXPECT_THAT(result.test.problems[0],
              HasSubstr("images.h5: test images, rows 0 to 7: their checksum is "));
}

TEST_F(VerifyTest, NumbersThatAreNotFiniteAreBadRows) {
  write_table<int32_t>({1, 2, 3, NAN, 5, 6, INFINITY, 8, 9, 1, 1, 2}, {0, 1, 0, 1, 7, 1});
  write_parts(folder_ / "b.h5", [&](Hdf5File& file, const std::string& part) {
    file.put<float>(part + "features", {6, 2}, {1, 2, 3, NAN, 5, 6, INFINITY, 8, 9, 1, 1, 2});
    file.put<int32_t>(part + "labels", {6}, {0, 1, 0, 1, 7, 1});
    file.attribute<int32_t>(part + "labels", "classes", {2});
  });
  config_.data.path = (folder_ / "b.h5").string();
  VerifyResult result = verify();
  EXPECT_EQ(result.train.bad, 3);
  EXPECT_THAT(result.train.problems,
              ElementsAre(HasSubstr("b.h5: train/features: sample 1: feature 1 is nan"),
                          HasSubstr("b.h5: train/features: sample 3: feature 0 is inf"),
                          HasSubstr("b.h5: train/labels: sample 4: label 7, expected 0 to 1")));
  EXPECT_EQ(result.test.bad, 3);
}

TEST_F(VerifyTest, AtMostTwentyRowsAreNamed) {
  write_table<float>(std::vector<float>(120, NAN), std::vector<float>(60, 1));
  VerifyResult result = verify();
  EXPECT_EQ(result.train.bad, 60);
  EXPECT_THAT(result.train.problems, SizeIs(max_problems));
  EXPECT_THAT(result.train.problems[19], HasSubstr("sample 19:"));
}

TEST_F(VerifyTest, AllMalformedRowsOfATableAreNamed) {
  write_text(folder_ / "t.csv", "a,b\n1,x\n2,y\nthree,x\n4,y\n5,x\n,y\n7,x\n8,y\n");
  config_.data = data_at("csv", folder_ / "t.csv");
  config_.data.csv.test_share = 0.5;
  config_.data.csv.blanks = CsvConfig::Blanks::refuse;
  VerifyResult result = verify();
  EXPECT_EQ(result.train.bad, 2);
  EXPECT_THAT(result.train.problems,
              ElementsAre(HasSubstr("t.csv:4:1: 'a': 'three'"), HasSubstr("t.csv:7:1: 'a': ''")));
}

TEST_F(VerifyTest, AnyNumberOfThreadsGivesTheSameReport) {
  std::vector<float> features(2 * 3000, 1);
  for (size_t row : {5u, 700u, 701u, 2999u}) features[2 * row] = std::nanf("");
  write_table(features, std::vector<float>(3000, 0.5f));
  std::vector<VerifyResult> results;
  int64_t done = 0;
  for (int threads : {1, 2, 7}) {
    auto keep = [&](const WorkProgress& progress) { done = progress.done; };
    results.push_back(verify_dataset(config_, {.on_progress = keep, .threads = threads}));
    EXPECT_EQ(done, 6000);
    EXPECT_EQ(results.back().train.bad, 4);
    EXPECT_EQ(results.back().test.problems, results.front().test.problems);
    EXPECT_THAT(results.back().train.problems[1], HasSubstr("sample 700"));
  }
}

TEST_F(VerifyTest, ShardsAreComparedWithTheirChecksums) {
  write_file(folder_ / "train_0000.tokens", shard_bytes<uint16_t>({1, 2, 3, 4, 5, 6, 7}, 9));
  Bytes bytes = shard_bytes<uint16_t>({1, 2, 3, 4, 5, 6, 7}, 9);
  bytes[64] ^= 1;
  write_file(folder_ / "val_0000.tokens", bytes);
  config_.data = data_at("tokens", folder_.path());
  config_.data.tokens.length = 3;
  VerifyResult result = verify();
  EXPECT_EQ(result.train.wrong, 0);
  EXPECT_EQ(result.test.wrong, 1);
  EXPECT_THAT(result.test.problems, ElementsAre(HasSubstr("val_0000.tokens: the checksum")));
}

// Rows that are read after the change are neither good nor bad.
TEST_F(VerifyTest, AFileThatChangesEndsTheVerification) {
  for (bool checksums : {false, true}) {
    if (checksums)
      convert_images();
    else
      write_table<float>(std::vector<float>(40, 1), std::vector<float>(20, 0.5f));
    auto cut = [&](const WorkProgress& progress) {
      if (progress.done == 0) fs::resize_file(config_.data.path, 64);
    };
    EXPECT_THAT(message_of(Category::data, [&] { verify_dataset(config_, {.on_progress = cut}); }),
                HasAll(config_.data.path, "changed while the run reads it"));
  }
}

TEST_F(VerifyTest, AStopIsAnError) {
  convert_images();
  std::atomic<bool> stop = true;
  EXPECT_THAT(message_of(Category::interrupted, [&] { verify_dataset(config_, {.stop = &stop}); }),
              HasSubstr("stopped by a signal at row 0 of 16"));
}

TEST_F(VerifyTest, ADescriptionCountsTheClasses) {
  convert_images();
  DatasetDescription data = describe_dataset(config_.data);
  EXPECT_THAT(data.train.class_counts, ElementsAre(2, 2, 2, 2));
  EXPECT_EQ(data.train.samples, 8);
  EXPECT_EQ(data.spec.columns[0].dtype, DType::u8);
  EXPECT_EQ(data.train.bytes, static_cast<int64_t>(fs::file_size(folder_ / "images.h5")));
  EXPECT_THAT(data.test.layout, ElementsAre("test/images: uint8 (8, 4, 4, 1), no chunks, 128 bytes",
                                            "test/labels: int32 (8,), no chunks, 32 bytes"));
  auto json = nlohmann::json::parse(to_json(data));
  EXPECT_EQ(json["train"]["class_counts"], (std::vector<int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(json["columns"][0]["dtype"], "uint8");
}

TEST_F(VerifyTest, ADescriptionNamesChunksAndFilters) {
  write_parts(folder_ / "a.h5", [&](Hdf5File& file, const std::string& part) {
    file.put<uint8_t>(part + "images", {4, 2, 2, 1}, pattern(16), 2, 6);
    file.put<int32_t>(part + "labels", {4}, {0, 1, 9, 1});
    file.attribute<int32_t>(part + "labels", "classes", {2});
  });
  config_.data = data_at("hdf5", folder_ / "a.h5");
  SplitDescription train = describe_dataset(config_.data).train;
  EXPECT_THAT(train.layout[0],
              HasSubstr("train/images: uint8 (4, 2, 2, 1), chunks of (2, 2, 2, 1), deflate, "));
  EXPECT_EQ(train.labels_out_of_range, 1);
  EXPECT_THAT(train.class_counts, ElementsAre(1, 2));
}

}  // namespace
}  // namespace spire
