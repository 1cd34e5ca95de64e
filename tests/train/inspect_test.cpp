// Looking at a step's tensors, and steps that a judge rejects.
#include <cmath>
#include <limits>
#include <mutex>
#include <set>

#include <gtest/gtest.h>

#include "tests/train/small_run.h"

namespace spire {
namespace {

// Images of which one sample has a NaN in its first pixel.
class PoisonedDataset : public Dataset {
 public:
  PoisonedDataset(const SmallRun& run, int64_t sample) : images_(run.dataset()), sample_(sample) {}

  const SampleSpec& spec() const override { return images_.spec(); }
  int64_t count() const override { return images_.count(); }
  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override {
    images_.read(samples, epoch, columns);
    const Column& image = spec().columns[0];
    for (size_t row = 0; row < samples.size(); ++row) {
      if (samples[row] != sample_) continue;
      std::byte* at = columns[0] + row * image.row_bytes();
      float nan = std::numeric_limits<float>::quiet_NaN();
      if (image.dtype == DType::f32) *reinterpret_cast<float*>(at) = nan;
      if (image.dtype == DType::bf16) *reinterpret_cast<bfloat16*>(at) = bfloat16(nan);
    }
  }

 private:
  ImageDataset images_;
  int64_t sample_;
};

struct Outcome {
  uint64_t hash = 0;
  std::vector<int64_t> rejected;  // steps
  int tower = -1;                 // of the first rejected one
  std::string tensor;
  int64_t sample = -1;  // in the row of the first bad input

  bool operator==(const Outcome&) const = default;
};

// Trains with a judge that rejects what is not finite, and looks for the first cause.
Outcome train_poisoned(const SmallRun& run, int64_t sample, int64_t steps) {
  std::mutex mutex;
  Outcome outcome;
  on_ranks(run, [&](TowerTrainer& trainer) {
    PoisonedDataset data(run, sample);
    BatchLoader loader(data, run.loading_ahead(trainer));
    trainer.set_judge([](const StepOutcome& step) {
      return std::isfinite(step.loss) && std::isfinite(step.grad_norm);
    });
    std::vector<int64_t> rejected;
    trainer.team().lead([&] {
      loader.start(0, 0, INT64_MAX);
      for (int64_t step = 0; step < steps; ++step) {
        const Batch& batch = loader.next();
        uint64_t before = trainer.parameter_hash();
        if (!trainer.step(batch, step, run.optimizer.lr).rejected) continue;
        EXPECT_EQ(trainer.parameter_hash(), before);
        rejected.push_back(step + 1);
        trainer.set_rejected_steps(std::ssize(rejected));
        if (rejected.size() > 1) continue;
        NonFiniteSearch search(run.towers);
        trainer.inspect(batch, step, search);
        EXPECT_EQ(trainer.parameter_hash(), before);
        for (int tower = 0; tower < run.towers; ++tower) {
          const auto& found = search.towers()[static_cast<size_t>(tower)];
          if (!found) continue;
          std::scoped_lock lock(mutex);
          EXPECT_EQ(outcome.tower, -1) << "in two towers";
          outcome.tower = tower;
          outcome.tensor = found->name.text();
          outcome.sample = loader.sample_of(batch, tower * run.batch_size + found->element / 64);
        }
      }
      loader.stop();
      trainer.check_replicas();
    });
    std::scoped_lock lock(mutex);
    outcome.rejected = rejected;
    outcome.hash = trainer.parameter_hash();
  });
  return outcome;
}

TEST(Inspect, ANanInASampleIsFoundInItsTowerOnAnyDevicesAndRanks) {
  std::set<int> towers;
  for (int64_t sample : {5, 31, 60, 77, 102}) {
    SmallRun run;
    run.judged = true;
    run.optimizer.name = OptimizerConfig::Name::adam;
    run.optimizer.lr = 0.001;
    Outcome one = train_poisoned(run, sample, 14);  // two epochs
    EXPECT_EQ(one.rejected.size(), 2u);
    EXPECT_EQ(one.tensor, "input images");
    EXPECT_EQ(one.sample, sample);
    towers.insert(one.tower);
    for (int ranks : {1, 2}) {
      for (int devices : {1, 2, 3}) {
        if (ranks * devices > run.towers) continue;
        SmallRun other = run;
        other.ranks = ranks;
        other.devices.clear();
        for (int d = 0; d < devices; ++d) other.devices.push_back(fmt::format("cpu:{}", d));
        EXPECT_EQ(train_poisoned(other, sample, 14), one)
            << ranks << " ranks with " << devices << " devices";
      }
    }
  }
  EXPECT_GT(towers.size(), 2u);  // the samples are in several towers
}

TEST(Inspect, ABadGradientDoesNotReachTheWeightsWhereItsNormComesFirst) {
  SmallRun run;
  run.optimizer.clip_norm = 1e9;
  TowerTrainer trainer(run.options(), run.place());
  PoisonedDataset data(run, 5);
  BatchLoader loader(data, run.loading());
  trainer.team().lead([&] {
    loader.start(0, 0, 1);
    int rejected = 0;
    while (!loader.finished()) {
      uint64_t before = trainer.parameter_hash();
      StepOutcome step = trainer.step(loader.next(), 0, 0.05);
      EXPECT_EQ(step.rejected, !std::isfinite(step.grad_norm));
      EXPECT_EQ(step.rejected, trainer.parameter_hash() == before);
      if (step.rejected) ++rejected;
    }
    EXPECT_EQ(rejected, 1);
  });
}

using Records = std::vector<std::vector<TensorRecord>>;

// Returns the tensors of step 3, after looking at every step before it.
Records records_of(const SmallRun& run) {
  TowerTrainer trainer(run.options(), run.place());
  Records records;
  for_batches(trainer, run, run.dataset(), 0, 3, [&](const Batch& batch, int64_t step) {
    TensorRecorder recorder(run.towers);
    trainer.inspect(batch, step, recorder);
    records = recorder.towers();
    trainer.step(batch, step, 0.05);
  });
  EXPECT_EQ(trainer.parameter_hash(), hash_after(run, 3));  // looking changes nothing
  return records;
}

TEST(Inspect, TensorsAreTheSameOnAnyDevices) {
  for (const char* normalization : {"none", "sync"}) {
    SmallRun run;
    if (normalization == std::string("sync")) {
      run.model.normalization = ModelConfig::Normalization::batch_norm;
      run.model.batch_norm = ModelConfig::BatchNorm::sync;
    }
    Records one = records_of(run);
    run.devices = {"cpu:0", "cpu:1", "cpu:2"};
    Records three = records_of(run);
    ASSERT_EQ(one.size(), three.size());
    for (size_t t = 0; t < one.size(); ++t) {
      ASSERT_EQ(one[t].size(), three[t].size());
      for (size_t i = 0; i < one[t].size(); ++i) {
        EXPECT_EQ(one[t][i].name.text(), three[t][i].name.text());
        EXPECT_EQ(one[t][i].hash, three[t][i].hash)
            << "tower " << t << ": " << one[t][i].name.text();
      }
    }
  }
}

TEST(Inspect, EveryGradientHasItsParametersName) {
  SmallRun run;
  Records records = records_of(run);
  TowerTrainer trainer(run.options(), run.place());
  for (const ParameterEntry& entry : trainer.layout().entries()) {
    auto named = [&](const TensorRecord& record) { return record.name.parameter == entry.name; };
    EXPECT_TRUE(std::ranges::any_of(records[0], named)) << entry.name;
  }
  EXPECT_EQ(records[0][0].name.text(), "input images");
  EXPECT_EQ(records[0][1].name.text(), "input labels");
}

}  // namespace
}  // namespace spire
