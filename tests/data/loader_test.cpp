#include "engine/data/loader.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/dataset.h>

#include "tests/base/message_of.h"
#include "tests/data/numbered.h"

namespace spire {
namespace {

using testing::HasSubstr;

// A copy of all that a batch holds.
struct Copy {
  std::vector<uint8_t> images;
  std::vector<int32_t> labels;
  int64_t valid, epoch, step, first;
  bool operator==(const Copy&) const = default;
};

Copy copy_of(const Batch& batch, const Dataset& dataset, const LoaderOptions& options) {
  auto rows = static_cast<size_t>(options.batch_size * options.towers);
  auto* images = batch.column<uint8_t>(0);
  auto* labels = batch.column<int32_t>(1);
  return {{images, images + rows * dataset.spec().columns[0].row_bytes()},
          {labels, labels + rows},
          batch.valid,
          batch.epoch,
          batch.step_in_epoch,
          batch.first_position};
}

std::vector<Copy> run(const Dataset& dataset, const LoaderOptions& options, int64_t epoch,
                      int64_t step, int64_t epochs_end) {
  BatchLoader loader(dataset, options);
  loader.start(epoch, step, epochs_end);
  std::vector<Copy> batches;
  while (!loader.finished()) batches.push_back(copy_of(loader.next(), dataset, options));
  return batches;
}

// Each epoch holds each sample once, in the sampler's order, in contiguous rows, zeros after them.
void expect_epochs(int64_t count, const LoaderOptions& options) {
  LabelledImages images_of = numbered(count);
  ImageDataset dataset = readable(images_of);
  Sampler sampler(count, options.seed);
  int64_t global = options.batch_size * options.towers;
  int64_t steps = (count + global - 1) / global;
  std::vector<Copy> batches = run(dataset, options, 0, 0, 2);
  ASSERT_EQ(static_cast<int64_t>(batches.size()), 2 * steps);
  for (int64_t i = 0; i < 2 * steps; ++i) {
    const Copy& batch = batches[static_cast<size_t>(i)];
    ASSERT_EQ(batch.epoch, i / steps);
    ASSERT_EQ(batch.step, i % steps);
    ASSERT_EQ(batch.first, i % steps * global);
    ASSERT_EQ(batch.valid, std::min(global, count - batch.first));
    std::vector<float> images(static_cast<size_t>(global * images_of.image_size()));
    std::memcpy(images.data(), batch.images.data(), batch.images.size());
    for (int64_t row = 0; row < global; ++row) {
      bool valid = row < batch.valid;
      int64_t sample = valid ? sampler.index(batch.epoch, batch.first + row) : 0;
      ASSERT_EQ(batch.labels[static_cast<size_t>(row)], sample);
      for (int64_t p = 0; p < 4; ++p) {
        double pixel = images_of.pixels[static_cast<size_t>(sample * 4 + p)] / 255.0;
        float expected = valid ? static_cast<float>((pixel - 0.5) / 0.25) : 0.0f;
        ASSERT_EQ(images[static_cast<size_t>(row * 4 + p)], expected);
      }
    }
  }
}

TEST(BatchLoader, EverySampleOncePerEpochInTheSamplersOrder) {
  for (int64_t count = 1; count <= 33; ++count)
    for (int64_t towers = 1; towers <= 4; ++towers)
      for (int64_t batch = 1; batch <= 5; ++batch)
        ASSERT_NO_FATAL_FAILURE(expect_epochs(count, options_of(batch, towers, count % 3)))
            << count << " samples, " << towers << " towers, batch " << batch;
}

TEST(BatchLoader, BatchesDoNotDependOnTheNumberOfWorkersNorOnPrefetch) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    ImageDataset dataset = readable(numbered(101, 6), dtype, {2, true});
    LoaderOptions options = options_of(3, 2, 0);
    std::vector<Copy> expected = run(dataset, options, 0, 0, 3);
    for (int64_t workers : {1, 2, 5})
      for (int64_t prefetch : {1, 2, 7}) {
        options.workers = workers;
        options.prefetch = prefetch;
        EXPECT_EQ(run(dataset, options, 0, 0, 3), expected) << workers << " " << prefetch;
      }
  }
}

TEST(BatchLoader, ValuesThatAreNoLabelsAreRefused) {
  std::vector<float> x = {1, 2, 3, 4}, y = {0, 1, -1, 1};
  auto dataset =
      array_dataset({array("features", x.data(), {4, 1}), array("values", y.data(), {4, 1})});
  LoaderOptions options = options_of(2, 2, 1);
  options.shuffle = false;
  auto first = [&] {
    BatchLoader loader(*dataset, options);
    loader.start(0, 0, 1);
    loader.next();
  };
  EXPECT_NO_THROW(first());
  options.binary = true;
  EXPECT_THAT(message_of(Category::data, first),
              HasAll("sample 2: value 0 is -1, but with loss.name: binary", "store (y + 1) / 2"));
  y[2] = 0;
  EXPECT_NO_THROW(first());
}

// The same samples in the same rows however the global batch is cut into towers.
TEST(BatchLoader, BatchesDependOnTheGlobalBatchAlone) {
  ImageDataset dataset = readable(numbered(50));
  std::vector<Copy> expected = run(dataset, options_of(12, 1, 1), 0, 0, 2);
  for (int64_t towers : {2, 3, 4, 12})
    EXPECT_EQ(run(dataset, options_of(12 / towers, towers, 1), 0, 0, 2), expected);
}

TEST(BatchLoader, ResumesAnywhereWithTheBatchesOfTheStraightRun) {
  ImageDataset dataset = readable(numbered(23, 4), DType::f32, {1, true});
  LoaderOptions options = options_of(2, 2, 2);
  std::vector<Copy> straight = run(dataset, options, 0, 0, 3);
  constexpr int64_t steps = 6;
  for (int64_t done = 0; done <= 3 * steps; ++done) {
    std::vector<Copy> rest(straight.begin() + done, straight.end());
    EXPECT_EQ(run(dataset, options, done / steps, done % steps, 3), rest);
    if (done % steps == 0 && done > 0) {  // the end of an epoch is the start of the next
      EXPECT_EQ(run(dataset, options, done / steps - 1, steps, 3), rest);
    }
  }
}

TEST(BatchLoader, MayBeStartedAgainAtAnyTime) {
  ImageDataset dataset = readable(numbered(40));
  LoaderOptions options = options_of(4, 1, 2);
  std::vector<Copy> expected = run(dataset, options, 2, 5, 3);
  BatchLoader loader(dataset, options);
  for (int64_t used = 0; used < 6; ++used) {
    loader.start(0, used, 100);
    for (int64_t i = 0; i < used; ++i) loader.next();
    loader.start(2, 5, 3);
    for (const Copy& batch : expected) EXPECT_EQ(copy_of(loader.next(), dataset, options), batch);
    EXPECT_TRUE(loader.finished());
  }
}

TEST(BatchLoader, StopsWhileItsThreadsAreAtWork) {
  ImageDataset dataset = readable(numbered(200, 16));
  for (int64_t i = 0; i < 50; ++i) {
    BatchLoader loader(dataset, options_of(8, 2, 3));
    loader.start(0, 0, 1000);
    for (int64_t used = 0; used < i % 5; ++used) loader.next();
    if (i % 2 == 0) loader.stop();
  }
}

TEST(BatchLoader, BatchInUseOutlivesStop) {
  ImageDataset dataset = readable(numbered(9));
  BatchLoader loader(dataset, options_of(3, 1, 2));
  loader.start(0, 0, 1);
  const Batch& batch = loader.next();
  Copy before = copy_of(batch, dataset, options_of(3, 1, 2));
  loader.stop();
  EXPECT_EQ(copy_of(batch, dataset, options_of(3, 1, 2)), before);
}

// However far the ring is filled, the last `in_use` batches do not change.
TEST(BatchLoader, KeepsAsManyBatchesAsAreInUse) {
  ImageDataset dataset = readable(numbered(64, 8));
  std::vector<Copy> expected = run(dataset, options_of(4, 1, 0), 0, 0, 4);
  for (size_t in_use : {1, 3})
    for (int64_t workers : {0, 1, 4}) {
      LoaderOptions options = options_of(4, 1, workers);
      options.in_use = static_cast<int64_t>(in_use);
      BatchLoader loader(dataset, options);
      loader.start(0, 0, 4);
      std::deque<const Batch*> held;
      for (size_t given = 1; given <= expected.size(); ++given) {
        held.push_back(&loader.next());
        if (held.size() > in_use) held.pop_front();
        for (int look = 0; look < 20; ++look) {
          std::this_thread::yield();
          for (size_t i = 0; i < held.size(); ++i)
            ASSERT_EQ(copy_of(*held[i], dataset, options), expected[given - held.size() + i]);
        }
      }
    }
}

TEST(BatchLoader, WithoutShuffleKeepsTheOrderOfTheDataset) {
  LabelledImages images = numbered(10);
  ImageDataset dataset = readable(images);
  LoaderOptions options = options_of(2, 2, 1);
  options.shuffle = false;
  std::vector<int32_t> labels;
  for (const Copy& batch : run(dataset, options, 0, 0, 1))
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.begin() + batch.valid);
  EXPECT_EQ(labels, images.labels);
}

TEST(BatchLoader, DropLastLeavesTheRaggedBatchOut) {
  ImageDataset dataset = readable(numbered(11));
  LoaderOptions options = options_of(2, 2, 1);
  std::vector<Copy> weighted = run(dataset, options, 0, 0, 1);
  options.drop_last = true;
  std::vector<Copy> dropped = run(dataset, options, 0, 0, 1);
  EXPECT_EQ(BatchLoader(dataset, options).steps_per_epoch(), 2);
  weighted.pop_back();
  EXPECT_EQ(dropped, weighted);
}

TEST(BatchLoader, DropLastOfEverythingIsAConfigError) {
  ImageDataset dataset = readable(numbered(3));
  LoaderOptions options = options_of(2, 2, 1);
  options.drop_last = true;
  EXPECT_THAT(message_of(Category::config, [&] { BatchLoader(dataset, options); }),
              HasAll("data.last_batch", "3 samples", "batch of 4", "weighted"));
}

TEST(BatchLoader, OptionsOutOfRangeAreConfigErrors) {
  ImageDataset dataset = readable(numbered(3));
  auto refusal = [&](int64_t batch, int64_t towers, int64_t workers, int64_t prefetch) {
    LoaderOptions options = options_of(batch, towers, workers);
    options.prefetch = prefetch;
    return message_of(Category::config, [&] { BatchLoader(dataset, options); });
  };
  EXPECT_THAT(refusal(0, 1, 1, 1), HasSubstr("batch_size: 0"));
  EXPECT_THAT(refusal(1, 0, 1, 1), HasSubstr("towers: 0"));
  EXPECT_THAT(refusal(1, 1, -1, 1), HasSubstr("data.workers: -1"));
  EXPECT_THAT(refusal(1, 1, 1, 0), HasSubstr("data.prefetch: 0"));
  EXPECT_THAT(refusal(int64_t{1} << 40, int64_t{1} << 40, 1, 1), HasSubstr("lower batch_size"));
  EXPECT_THROW(BatchLoader(dataset, {.in_use = 0}), Error);
}

// A worker's error is thrown by the next() of its batch, and by each later one.
TEST(BatchLoader, ErrorsOfWorkersReachTheConsumer) {
  LabelledImages images = numbered(12);
  images.labels[7] = 12;
  ImageDataset dataset = readable(images);
  for (int64_t workers : {0, 1, 3}) {
    LoaderOptions options = options_of(2, 1, workers);
    options.shuffle = false;
    BatchLoader loader(dataset, options);
    loader.start(0, 0, 1);
    for (int32_t step = 0; step < 3; ++step)
      EXPECT_EQ(loader.next().column<int32_t>(1)[1], 2 * step + 1);
    for (int again = 0; again < 2; ++again)
      EXPECT_THAT(message_of(Category::data, [&] { loader.next(); }),
                  HasAll("sample 7", "label 12", "0 to 11"));
    loader.start(0, 4, 1);  // past the bad sample
    EXPECT_EQ(loader.next().column<int32_t>(1)[0], 8);
  }
}

TEST(BatchLoader, NothingIsLeftAfterTheEnd) {
  ImageDataset dataset = readable(numbered(4));
  BatchLoader loader(dataset, options_of(4, 1, 1));
  EXPECT_TRUE(loader.finished());
  EXPECT_THROW(loader.next(), Error);
  loader.start(3, 0, 3);  // no epoch
  EXPECT_TRUE(loader.finished());
  loader.start(3, 0, 4);
  loader.next();
  EXPECT_THROW(loader.next(), Error);
  EXPECT_THROW(loader.start(0, 2, 3), Error);
  EXPECT_THROW(loader.start(-1, 0, 3), Error);
}

TEST(BatchLoader, RunsWithoutAnEnd) {
  ImageDataset dataset = readable(numbered(4));
  for (int64_t workers : {0, 2}) {
    BatchLoader loader(dataset, options_of(2, 1, workers));
    loader.start(5, 1, std::numeric_limits<int64_t>::max());
    EXPECT_EQ(loader.next().epoch, 5);
    EXPECT_EQ(loader.next().epoch, 6);
    EXPECT_FALSE(loader.finished());
  }
}

TEST(BatchLoader, MemoryIsAlignedForVectors) {
  ImageDataset dataset = readable(numbered(5, 3));
  BatchLoader loader(dataset, options_of(1, 3, 1));
  loader.start(0, 0, 3);
  while (!loader.finished()) {
    const Batch& batch = loader.next();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(batch.columns[0]) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(batch.columns[1]) % 64, 0u);
  }
}

TEST(BatchLoader, ReportsTheTimeItWaited) {
  ImageDataset dataset = readable(numbered(100, 28));
  BatchLoader loader(dataset, options_of(50, 1, 0));
  EXPECT_EQ(loader.wait_seconds(), 0.0);
  loader.start(0, 0, 1);
  loader.next();
  double first = loader.wait_seconds();
  EXPECT_GT(first, 0.0);  // without workers, the preparation itself
  loader.next();
  EXPECT_GT(loader.wait_seconds(), first);
}

// Tests loaders that read some of the towers' rows, against one that reads them all.

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
