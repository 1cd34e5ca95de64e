// Tests of batches in pinned memory, which streams copy while the host goes on.
#include <atomic>
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tests/emulation/devices.h>

#include "engine/train/batch_uploader.h"
#include "tests/base/message_of.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

using ::testing::HasSubstr;

constexpr DeviceId gpu{DeviceKind::cuda, 0};

// A tower that only records its input and its step.
struct Reader {
  std::unique_ptr<DeviceMemory> row = allocate_staging(gpu, sizeof(int));
  std::unique_ptr<DeviceMemory> step = allocate_staging(gpu, sizeof(StepContext));

  void run(BatchUploader& feed, Stream& stream, const int* rows, int64_t number) {
    Bindings bindings;
    bindings.inputs.resize(1);
    TowerRows input{reinterpret_cast<const std::byte*>(rows), sizeof(int)};
    size_t slot = feed.upload({&input, 1}, {.step = number}, bindings);
    stream.copy(row->data(), bindings.inputs[0], sizeof(int));
    stream.copy(step->data(), bindings.step, sizeof(StepContext));
    feed.release(slot);
  }
};

TEST(EmulationStaging, AnUploadReadsPinnedRowsWhenItRuns) {
  auto stream = make_stream(gpu);
  MemoryPool memory(gpu);
  BatchUploader feed(*stream, memory, {sizeof(int)}, 2, 2);
  auto pinned = allocate_staging(gpu, sizeof(int));
  *pinned->as<int>() = 1;
  int plain = 1;
  Reader of_pinned, of_plain;
  of_pinned.run(feed, *stream, pinned->as<int>(), 0);
  of_plain.run(feed, *stream, &plain, 1);
  *pinned->as<int>() = plain = 2;
  stream->synchronize();
  EXPECT_EQ(*of_pinned.row->as<int>(), 2);
  EXPECT_EQ(*of_plain.row->as<int>(), 1);
}

TEST(EmulationStaging, TowersThatAreAheadReadTheirStep) {
  auto stream = make_stream(gpu);
  MemoryPool memory(gpu);
  constexpr int ahead = 5;
  BatchUploader feed(*stream, memory, {sizeof(int)}, 2, ahead);
  int row = 7;
  for (int round = 0; round < 3; ++round) {
    std::vector<Reader> readers(ahead);
    for (int i = 0; i < ahead; ++i)
      readers[static_cast<size_t>(i)].run(feed, *stream, &row, 10 * round + i);
    stream->synchronize();
    for (int i = 0; i < ahead; ++i)
      EXPECT_EQ(readers[static_cast<size_t>(i)].step->as<StepContext>()->step, 10 * round + i);
  }
}

// Signals when a number of batches has been read.
class CountedReads : public Dataset {
 public:
  explicit CountedReads(ImageDataset data) : data_(std::move(data)) {}
  const SampleSpec& spec() const override { return data_.spec(); }
  int64_t count() const override { return data_.count(); }
  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override {
    data_.read(samples, epoch, columns);
    ++reads_;
    reads_.notify_all();
  }
  void await(int64_t reads) const {
    for (int64_t seen; (seen = reads_) < reads;) reads_.wait(seen);
  }

 private:
  ImageDataset data_;
  mutable std::atomic<int64_t> reads_ = 0;
};

// Each step begins when the batch after its own has been prepared, in the next slot that is free.
uint64_t hash_with(int64_t held) {
  SmallRun run;
  run.devices = {"cuda:0"};
  CountedReads data(run.dataset());
  LoaderOptions loading = run.loading();
  loading.prefetch = 1;
  loading.in_use = held;
  BatchLoader loader(data, loading);
  TowerTrainer trainer(run.options(), run.place());
  EXPECT_EQ(trainer.max_ahead(), 1);
  trainer.team().lead([&] {
    loader.start(0, 0, INT64_MAX);
    auto finish = [&](int ahead) {
      while (trainer.under_way() > ahead) trainer.finish_step();
    };
    for (int64_t step = 0; step < 6; ++step) {
      const Batch& batch = loader.next();
      data.await(step + 2);
      trainer.begin_step(batch, step, 0.05);
      finish(trainer.max_ahead());
    }
    finish(0);
    loader.stop();
  });
  return trainer.parameter_hash();
}

TEST(EmulationStaging, ABatchReturnedTooEarlyShows) {
  SmallRun run;
  run.devices = {"cuda:0"};
  uint64_t right = hash_after(run, 6);
  EXPECT_EQ(hash_with(2), right);
  EXPECT_EQ(hash_with(3), right);
  EXPECT_NE(hash_with(1), right);
}

// Copies from memory that is not pinned would make the host wait.
TEST(EmulationStaging, AStepAndAnEvaluationCopyFromPinnedMemoryAlone) {
  for (const char* normalization : {"none", "batch_norm"}) {
    SmallRun run;
    run.devices = {"cuda:0", "cuda:1"};
    run.model.normalization = *find_word<ModelConfig::Normalization>(normalization);
    run.optimizer = {.name = OptimizerConfig::Name::lamb, .lr = 0.01, .clip_norm = 1};
    ImageDataset data = run.dataset();
    BatchLoader loader(data, run.loading());
    TowerTrainer trainer(run.options(), run.place());
    size_t before = emulation::staged_copies();
    run_steps(trainer, run, 0, 9);
    trainer.team().lead([&] {
      EvaluationSums sums;
      trainer.begin_evaluation();
      loader.start(0, 0, 1);
      while (!loader.finished()) trainer.evaluate(loader.next(), sums);
      trainer.end_evaluation();
    });
    EXPECT_EQ(emulation::staged_copies(), before) << normalization;
  }
}

// Leaves a given amount of pinned memory.
class EmulationPinned : public ::testing::Test {
 protected:
  static void leave(size_t bytes) {
    emulation::set_pinned_limit(emulation::pinned_memory() + bytes);
  }
  ~EmulationPinned() override { emulation::set_pinned_limit(SIZE_MAX); }
};

TEST_F(EmulationPinned, StagingReportsTheMissingMemory) {
  leave(1 << 20);
  EXPECT_EQ(
      message_of(Category::out_of_memory, [] { allocate_staging(gpu, 3 << 20); }),
      "cuda:0: cannot allocate 3.0 MiB of pinned host memory; lower data.prefetch or batch_size");
  EXPECT_NO_THROW(allocate_staging(gpu, 1 << 20));
  EXPECT_NO_THROW(allocate_staging({}, 3 << 20));
}

TEST_F(EmulationPinned, ALoaderReportsWhatItNeedsAndWhatToDo) {
  SmallRun run;
  run.devices = {"cuda:0"};
  run.batch_size = 512;
  ImageDataset data = run.dataset();
  LoaderOptions loading = run.loading();
  loading.prefetch = 3;
  loading.in_use = 2;
  size_t batch = 4 * 512 * (64 * sizeof(float) + sizeof(int32_t));
  size_t before = emulation::pinned_memory();
  leave(5 * batch - 1);
  EXPECT_THAT(message_of(Category::out_of_memory, [&] { BatchLoader(data, loading); }),
              HasSubstr("data.prefetch: cannot allocate pinned host memory for 5 batches of 520.0 "
                        "KiB, 3 prepared ahead and 2 in use; lower data.prefetch or "
                        "batch_size (cuda:0: cannot allocate 520.0 KiB"));
  EXPECT_EQ(emulation::pinned_memory(), before);
  loading.prefetch = 2;
  EXPECT_NO_THROW(BatchLoader(data, loading));
}

// Looking at a step's tensors needs memory that no plan has.
TEST(EmulationStaging, WithoutPinnedMemoryAnInspectionShowsTheSame) {
  SmallRun run;
  run.devices = {"cuda:0"};
  run.model = {.name = "mlp", .hidden = {8}};
  TowerTrainer trainer(run.options(), run.place());
  ImageDataset data = run.dataset();
  BatchLoader loader(data, run.loading_ahead(trainer));
  TensorRecorder pinned(run.towers), plain(run.towers);
  trainer.team().lead([&] {
    loader.start(0, 0, INT64_MAX);
    const Batch& batch = loader.next();
    trainer.inspect(batch, 0, pinned);
    emulation::set_pinned_limit(emulation::pinned_memory());
    trainer.inspect(batch, 0, plain);
    emulation::set_pinned_limit(SIZE_MAX);
    loader.stop();
  });
  for (size_t tower = 0; tower < pinned.towers().size(); ++tower) {
    const auto &one = pinned.towers()[tower], &other = plain.towers()[tower];
    ASSERT_GT(one.size(), 10u);
    ASSERT_EQ(one.size(), other.size());
    for (size_t i = 0; i < one.size(); ++i)
      EXPECT_EQ(one[i].hash, other[i].hash) << one[i].name.text();
  }
}

}  // namespace
}  // namespace spire
