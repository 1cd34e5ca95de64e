#include "engine/checkpoint/checkpoint_writer.h"

#include <future>

#include <gmock/gmock.h>

#include "engine/base/fail.h"
#include "engine/base/write_file.h"
#include "engine/checkpoint/checkpoint_file.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace spire {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::ElementsAre;

// A disk that fails on request, and can be stopped in the middle of a write.
class Disk {
 public:
  std::filesystem::path save(const StateMetadata& state) {
    std::unique_lock lock(mutex_);
    ++attempts_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    if (failures_ > 0) {
      --failures_;
      fail(Category::checkpoint, "cannot write step {}: No space left on device", state.step);
    }
    saved_.push_back(state.step);
    return "step";
  }
  CheckpointWriter::Save function() {
    return [this](const StateMetadata& state) { return save(state); };
  }
  void set_failures(int count) {
    std::lock_guard lock(mutex_);
    failures_ = count;
  }
  void hold(bool held) {
    std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  void wait_for_attempts(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return attempts_ >= count; });
  }
  std::vector<int64_t> saved() {
    std::lock_guard lock(mutex_);
    return saved_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int attempts_ = 0;
  int failures_ = 0;
  bool held_ = false;
  std::vector<int64_t> saved_;
};

void submit_step(CheckpointWriter& writer, int64_t step) {
  writer.begin().step = step;
  writer.submit();
}

std::vector<CheckpointResult> results_of(CheckpointWriter& writer) {
  std::vector<CheckpointResult> results;
  writer.report([&](const CheckpointResult& result) { results.push_back(result); });
  return results;
}

TEST(CheckpointWriter, WritesInOrderAndReportsOnTheCallersThread) {
  Disk disk;
  CheckpointWriter writer(disk.function(), {});
  for (int64_t step = 1; step <= 50; ++step) submit_step(writer, step);
  writer.wait_idle();
  std::vector<int64_t> reported;
  auto self = std::this_thread::get_id();
  writer.report([&](const CheckpointResult& result) {
    EXPECT_EQ(std::this_thread::get_id(), self);
    EXPECT_TRUE(result.final && result.error.empty() && !result.path.empty());
    reported.push_back(result.step);
  });
  EXPECT_EQ(reported.size(), 50u);
  EXPECT_EQ(reported, disk.saved());
  EXPECT_TRUE(std::is_sorted(reported.begin(), reported.end()));
  EXPECT_TRUE(results_of(writer).empty());
  EXPECT_EQ(writer.failure(), std::nullopt);
}

// A state that is being written must not change.
TEST(CheckpointWriter, BeginWaitsForTheAttemptThatIsUnderWay) {
  Disk disk;
  disk.hold(true);
  CheckpointWriter writer(disk.function(), {});
  submit_step(writer, 1);
  disk.wait_for_attempts(1);
  auto second = std::async(std::launch::async, [&] { submit_step(writer, 2); });
  EXPECT_EQ(second.wait_for(milliseconds(20)), std::future_status::timeout);
  EXPECT_TRUE(disk.saved().empty());
  disk.hold(false);
  second.get();
  writer.wait_idle();
  EXPECT_THAT(disk.saved(), ElementsAre(1, 2));
}

TEST(CheckpointWriter, WriteNowReturnsAfterTheAttempt) {
  Disk disk;
  CheckpointWriter writer(disk.function(), {hours(1)});
  writer.begin().step = 1;
  writer.write_now();
  EXPECT_THAT(disk.saved(), ElementsAre(1));
  disk.set_failures(1);
  writer.begin().step = 2;
  writer.write_now();
  EXPECT_EQ(writer.failure(), "cannot write step 2: No space left on device");
  auto results = results_of(writer);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[1].final) << "the state moves on";
  submit_step(writer, 3);
  writer.wait_idle();
  EXPECT_THAT(disk.saved(), ElementsAre(1, 3));
}

TEST(CheckpointWriter, TriesAgainUntilTheDiskHasSpace) {
  Disk disk;
  disk.set_failures(2);
  CheckpointWriter writer(disk.function(), {milliseconds(0), milliseconds(0), milliseconds(0)});
  submit_step(writer, 5);
  writer.wait_idle();
  EXPECT_THAT(disk.saved(), ElementsAre(5));
  EXPECT_EQ(writer.failure(), std::nullopt);
  auto results = results_of(writer);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].error, "cannot write step 5: No space left on device");
  EXPECT_FALSE(results[0].final);
  EXPECT_TRUE(results[0].path.empty());
  EXPECT_TRUE(results[2].final);
  EXPECT_EQ(results[2].error, "");
}

TEST(CheckpointWriter, APermanentErrorEndsTheRetries) {
  int attempts = 0;
  auto save = [&](const StateMetadata&) -> std::filesystem::path {
    ++attempts;
    throw PermanentError(Category::checkpoint, "Permission denied");
  };
  CheckpointWriter writer(save, {hours(1), hours(1)});
  submit_step(writer, 1);
  writer.wait_idle();
  EXPECT_EQ(attempts, 1);
  auto results = results_of(writer);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].final);
  EXPECT_EQ(writer.failure(), "Permission denied");
}

// A run that is stopped does not wait for room on the disk.
TEST(CheckpointWriter, StopRetryingEndsAWaitAndLeavesOneAttemptEach) {
  Disk disk;
  disk.set_failures(1000);
  CheckpointWriter writer(disk.function(), {hours(1), hours(1)});
  submit_step(writer, 5);
  disk.wait_for_attempts(1);
  EXPECT_FALSE(writer.wait_idle(milliseconds(1)));
  writer.stop_retrying();
  writer.wait_idle();
  EXPECT_TRUE(results_of(writer).back().final);
  submit_step(writer, 6);
  writer.wait_idle();
  auto results = results_of(writer);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].final);
  EXPECT_EQ(writer.failure(), "cannot write step 6: No space left on device");
}

TEST(CheckpointWriter, GivesUpAfterTheLastAttemptAndSaysSoUntilOneSucceeds) {
  Disk disk;
  disk.set_failures(3);
  CheckpointWriter writer(disk.function(), {milliseconds(0), milliseconds(0)});
  submit_step(writer, 5);
  writer.wait_idle();
  EXPECT_EQ(writer.failure(), "cannot write step 5: No space left on device");
  auto results = results_of(writer);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_FALSE(results[1].final);
  EXPECT_TRUE(results[2].final);
  submit_step(writer, 6);
  writer.wait_idle();
  EXPECT_EQ(writer.failure(), std::nullopt);
}

// The waits here are hours: only the newer snapshot can end them.
TEST(CheckpointWriter, ANewerSnapshotReplacesOneThatWaits) {
  Disk disk;
  disk.set_failures(1);
  CheckpointWriter writer(disk.function(), {hours(1)});
  submit_step(writer, 1);
  while (!writer.failure()) std::this_thread::yield();
  submit_step(writer, 2);
  writer.wait_idle();
  EXPECT_THAT(disk.saved(), ElementsAre(2));
  EXPECT_EQ(writer.failure(), std::nullopt);
}

TEST(CheckpointWriter, EndingTriesOnceMoreWithoutWaiting) {
  Disk disk;
  disk.set_failures(1);
  {
    CheckpointWriter writer(disk.function(), {hours(1), hours(1)});
    submit_step(writer, 1);
    while (!writer.failure()) std::this_thread::yield();
  }
  EXPECT_THAT(disk.saved(), ElementsAre(1));
  { CheckpointWriter idle(disk.function()); }
}

TEST(CheckpointWriter, SubmitNeedsABegin) {
  Disk disk;
  CheckpointWriter writer(disk.function());
  EXPECT_THROW(writer.submit(), Error);
}

class WriterOnDisk : public CheckpointTest {};

TEST_F(WriterOnDisk, WhatTheStoreWritesIsTheSnapshotAtSubmit) {
  CheckpointStore store(folder / "checkpoints", {.keep_last = 2, .keep_every = 0});
  TrainingState held;
  std::vector<float> piece(1000);
  CheckpointWriter writer(
      [&](const StateMetadata& metadata) { return store.save(metadata, held, piece); });
  for (int64_t step = 1; step <= 6; ++step) {
    writer.begin() = sample_state(step);
    held = sample_state(step);
    writer.submit();
  }
  writer.wait_idle();
  EXPECT_EQ(writer.failure(), std::nullopt);
  EXPECT_EQ(results_of(writer).back().bytes,
            static_cast<int64_t>(std::filesystem::file_size(store.path_of(6))));
  auto newest = store.newest_intact(nullptr);
  ASSERT_TRUE(newest.has_value());
  expect_same_bits(read_checkpoint(newest->path), sample_state(6));
  EXPECT_EQ(store.list().size(), 2u);
}

}  // namespace
}  // namespace spire
