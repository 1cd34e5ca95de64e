// Tests loaders that read some of the towers' rows, against one that reads them all.
#include <cstring>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/numbered.h"

namespace spire {
namespace {

using testing::HasSubstr;

LoaderOptions range_of(LoaderOptions options, int64_t first, int64_t count) {
  options.first_tower = first;
  options.tower_count = count;
  return options;
}

// Loaders of the towers [0, cuts[0]), [cuts[0], cuts[1]), ... up to the last tower.
std::vector<std::unique_ptr<BatchLoader>> split(const Dataset& dataset, LoaderOptions options,
                                                const std::vector<int64_t>& cuts) {
  std::vector<std::unique_ptr<BatchLoader>> loaders;
  int64_t first = 0;
  for (size_t i = 0; i <= cuts.size(); ++i) {
    int64_t end = i < cuts.size() ? cuts[i] : options.towers;
    options.workers = static_cast<int64_t>(i % 3);  // each process its own number of them
    loaders.push_back(
        std::make_unique<BatchLoader>(dataset, range_of(options, first, end - first)));
    first = end;
  }
  return loaders;
}

struct Rows {
  int64_t expected_first = 0;  // of the next range
  int64_t without_samples = 0;
};

// The rows of `part` are those of `whole` at the same place, byte for byte.
void expect_rows(const Batch& whole, const Batch& part, int64_t rows, size_t image_bytes,
                 Rows& seen) {
  ASSERT_EQ(part.first_row, seen.expected_first);
  ASSERT_EQ(part.valid, whole.valid);
  ASSERT_EQ(part.epoch, whole.epoch);
  ASSERT_EQ(part.step_in_epoch, whole.step_in_epoch);
  ASSERT_EQ(part.first_position, whole.first_position);
  auto first = static_cast<size_t>(part.first_row), count = static_cast<size_t>(rows);
  const std::byte* images = whole.columns[0] + first * image_bytes;
  const int32_t* labels = whole.column<int32_t>(1) + first;
  ASSERT_EQ(std::memcmp(part.columns[0], images, count * image_bytes), 0);
  ASSERT_EQ(std::memcmp(part.columns[1], labels, count * sizeof(int32_t)), 0);
  seen.expected_first += rows;
  seen.without_samples += part.valid <= part.first_row ? 1 : 0;
}

// Returns how many of the parts' batches held no sample at all.
int64_t expect_union(const Dataset& dataset, const LoaderOptions& options,
                     const std::vector<int64_t>& cuts) {
  BatchLoader whole(dataset, options);
  auto parts = split(dataset, options, cuts);
  std::vector<int64_t> ends = cuts;
  ends.push_back(options.towers);
  whole.start(0, 0, 2);
  for (auto& part : parts) part->start(0, 0, 2);
  size_t image_bytes = dataset.spec().columns[0].row_bytes();
  Rows seen;
  while (!whole.finished()) {
    const Batch& batch = whole.next();
    EXPECT_EQ(batch.first_row, 0);
    seen.expected_first = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      int64_t towers = ends[i] - (i == 0 ? 0 : ends[i - 1]);
      expect_rows(batch, parts[i]->next(), towers * options.batch_size, image_bytes, seen);
      if (testing::Test::HasFatalFailure()) return 0;
    }
    EXPECT_EQ(seen.expected_first, options.towers * options.batch_size);
  }
  for (auto& part : parts) EXPECT_TRUE(part->finished());
  return seen.without_samples;
}

// Every way to cut four towers, every size of the last batch.
TEST(TowersOfALoader, TheUnionOfTheRangesIsTheWholeBatch) {
  int64_t without_samples = 0;
  for (int64_t count = 24; count < 36; ++count) {
    for (DType dtype : {DType::f32, DType::bf16}) {
      ImageDataset dataset = readable(numbered(count, 5), dtype, {2, true});
      LoaderOptions options = options_of(3, 4, 2);
      for (unsigned cut_after = 0; cut_after < 8; ++cut_after) {
        std::vector<int64_t> cuts;
        for (int64_t tower = 1; tower < 4; ++tower)
          if ((cut_after >> (tower - 1) & 1u) != 0) cuts.push_back(tower);
        without_samples += expect_union(dataset, options, cuts);
        ASSERT_FALSE(HasFailure()) << count << " samples, cuts " << cut_after;
      }
    }
  }
  EXPECT_GT(without_samples, 0);
}

TEST(TowersOfALoader, EvaluationsOrderIsCutTheSameWay) {
  ImageDataset dataset = readable(numbered(11));
  LoaderOptions options = options_of(4, 6, 1);
  options.shuffle = false;
  EXPECT_EQ(expect_union(dataset, options, {1, 2, 3, 4, 5}), 2 * 3);  // 11 samples fill 3 towers
}

TEST(TowersOfALoader, ResumesWithTheRowsOfTheStraightRun) {
  ImageDataset dataset = readable(numbered(23, 4));
  LoaderOptions options = range_of(options_of(2, 3, 2), 1, 2);
  for (int64_t done = 0; done < 8; ++done) {
    BatchLoader straight(dataset, options), resumed(dataset, options);
    straight.start(0, 0, 2);
    for (int64_t i = 0; i < done; ++i) straight.next();
    resumed.start(done / 4, done % 4, 2);
    const Batch &a = straight.next(), &b = resumed.next();
    EXPECT_EQ(std::memcmp(a.columns[1], b.columns[1], 4 * sizeof(int32_t)), 0);
    EXPECT_EQ(std::memcmp(a.columns[0], b.columns[0], size_t{4} * 16 * sizeof(float)), 0);
  }
}

// A bad label in another tower's rows is not read, and memory is allocated for own rows only.
TEST(TowersOfALoader, OtherTowersRowsAreNeitherReadNorStored) {
  LabelledImages images = numbered(64, 4);
  images.labels[40] = -1;  // of tower 2
  ImageDataset dataset = readable(images);
  LoaderOptions options = options_of(16, 4, 1);
  options.shuffle = false;
  for (int64_t tower = 0; tower < 4; ++tower) {
    BatchLoader loader(dataset, range_of(options, tower, 1));
    loader.start(0, 0, 1);
    if (tower == 2) {
      EXPECT_THAT(message_of(Category::data, [&] { loader.next(); }), HasSubstr("sample 40"));
      continue;
    }
    const Batch& batch = loader.next();
    EXPECT_EQ(batch.column<int32_t>(1)[0], 16 * tower);
    EXPECT_EQ(batch.columns[1] - batch.columns[0], 16 * 16 * 4);
  }
}

TEST(TowersOfALoader, UnknownTowersAreRefused) {
  ImageDataset dataset = readable(numbered(9));
  auto refusal = [&](int64_t first, int64_t count) {
    return message_of(Category::unexpected,
                      [&] { BatchLoader(dataset, range_of(options_of(2, 3, 1), first, count)); });
  };
  EXPECT_THAT(refusal(3, 1), HasSubstr("1 towers from tower 3 on, of 3"));
  EXPECT_THAT(refusal(2, 2), HasSubstr("2 towers from tower 2"));
  EXPECT_THAT(refusal(-1, 1), HasSubstr("from tower -1"));
  EXPECT_THAT(refusal(0, -1), HasSubstr("-1 towers"));
  EXPECT_THAT(refusal(1, 0), HasSubstr("3 towers from tower 1"));  // all, but not from the first
}

}  // namespace
}  // namespace spire
