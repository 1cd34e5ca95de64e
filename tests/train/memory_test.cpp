// Tests a trainer's memory on each kind of device: peaks equal the plan, and limits hold.
#include <gmock/gmock.h>

#include <spire/error.h>

#include "engine/graph/buffer_assignment.h"
#include "engine/train/model_graph.h"
#include "models/model.h"
#include "tests/base/message_of.h"
#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

using testing::HasSubstr;

class TowerTrainerMemory : public OnEachKind {
 protected:
  SmallRun run_on(int64_t count) const {
    SmallRun run;
    run.devices = devices(count);
    run.snapshot = SnapshotChoice::always;
    return run;
  }
  // Two logical devices with one memory: one GPU named twice, or two CPU devices of the host.
  SmallRun run_on_one_twice() const {
    SmallRun run = run_on(2);
    if (on_gpu()) run.devices = {"cuda:0", "cuda:0"};
    return run;
  }
  static TowerTrainerOptions limited(const SmallRun& run, const std::string& limit) {
    TowerTrainerOptions options = run.options();
    options.config.memory.limit = limit;
    return options;
  }
  static MemoryByKind planned(const SmallRun& run, size_t device = 0) {
    return planned_trainer(run).planned_memory()[device];
  }
  static int64_t total(const MemoryByKind& memory) {
    int64_t bytes = 0;
    for (const auto& [kind, of_kind] : memory) bytes += of_kind;
    return bytes;
  }
  static std::string bytes(int64_t count) { return std::to_string(count) + "B"; }
  static std::string refusal(const SmallRun& run, const std::string& limit) {
    return message_if_any(Category::out_of_memory,
                          [&] { TowerTrainer(limited(run, limit), run.place()); });
  }

  void expect_peaks_as_planned(const SmallRun& run, int64_t sample_rows = 0) {
    TowerTrainerOptions options = run.options();
    options.sample_rows = sample_rows;
    TowerTrainer trainer(options, run.place());
    run_steps(trainer, run, 0, 1);
    EXPECT_EQ(trainer.peak_memory(), trainer.planned_memory());
  }
};

TEST_P(TowerTrainerMemory, PeaksAreThePlan) {
  for (int64_t count : {1, 2}) {
    for (const char* strategy : {"parameter_device", "mirrored", "sharded"}) {
      for (const char* optimizer : {"adamw", "lamb"}) {
        SCOPED_TRACE(testing::Message() << count << " " << strategy << " " << optimizer);
        SmallRun run = run_on(count);
        run.strategy = strategy;
        run.optimizer = {
            .name = *find_word<OptimizerConfig::Name>(optimizer), .lr = 0.01, .clip_norm = 1};
        run.ema = {.decay = 0.9};
        expect_peaks_as_planned(run);
      }
    }
  }
}

TEST_P(TowerTrainerMemory, PeaksAreThePlanInLockstepAndWithSamples) {
  SmallRun run = run_on(2);
  run.model.normalization = ModelConfig::Normalization::batch_norm;
  run.model.batch_norm = ModelConfig::BatchNorm::sync;
  expect_peaks_as_planned(run);
  run = run_on(1);
  run.model = {.name = "autoencoder", .channels = {4}};
  run.recompute = true;
  expect_peaks_as_planned(run, 3);
}

TEST_P(TowerTrainerMemory, APlanAloneAllocatesNothing) {
  SmallRun run = run_on(2);
  TowerTrainer plan = planned_trainer(run), trainer(run.options(), run.place());
  EXPECT_EQ(plan.planned_memory(), trainer.planned_memory());
  for (const MemoryByKind& device : plan.peak_memory()) EXPECT_EQ(total(device), 0);
  EXPECT_EQ(plan.memory_shortage(), "");
}

TEST_P(TowerTrainerMemory, TrainsTheSameWithinALimitThatIsJustEnough) {
  SmallRun run = run_on(1);
  TowerTrainer free(run.options(), run.place());
  TowerTrainer tight(limited(run, bytes(total(planned(run)))), run.place());
  run_steps(free, run, 0, 2);
  run_steps(tight, run, 0, 2);
  EXPECT_EQ(tight.parameter_hash(), free.parameter_hash());
  EXPECT_EQ(tight.memory_limits()[0], static_cast<size_t>(total(planned(run))));
}

TEST_P(TowerTrainerMemory, OneByteLessIsRefusedWithTheTable) {
  SmallRun run = run_on(1);
  std::string text = refusal(run, bytes(total(planned(run)) - 1));
  EXPECT_THAT(text, HasSubstr(run.devices[0] + ": "));
  EXPECT_THAT(text, HasSubstr(", most of it for "));
  EXPECT_THAT(text, HasSubstr("; memory.limit allows "));
  EXPECT_THAT(text, HasSubstr("; memory.limit: "));
  for (const auto& [kind, of_kind] : planned(run)) EXPECT_THAT(text, HasSubstr("\n" + kind + " "));
}

TEST_P(TowerTrainerMemory, LogicalDevicesShareTheLimit) {
  SmallRun run = run_on_one_twice();
  int64_t more = std::max(total(planned(run, 0)), total(planned(run, 1)));
  EXPECT_EQ(refusal(run, bytes(2 * more)), "");
  EXPECT_THAT(
      refusal(run, bytes(2 * more - 2)),
      testing::ContainsRegex(" for each of 2 devices, of which .* is in use; .*memory.limit: "));
}

// The limits are unequal: each device has its own plan within its own limit, whatever the other's.
TEST_P(TowerTrainerMemory, LogicalDevicesMayHaveLimitsOfTheirOwn) {
  SmallRun run = run_on_one_twice(), one = run_on(1);
  std::vector<std::string> names = run.devices;
  int64_t first = total(planned(run, 0)), second = total(planned(run, 1));
  auto limit = [&](int64_t of_first, int64_t of_second) {
    run.devices = {names[0] + ":" + bytes(of_first), names[1] + ":" + bytes(of_second)};
  };
  limit(first + 1000, second);
  {
    TowerTrainer tight(run.options(), run.place()), free(one.options(), one.place());
    run_steps(tight, run, 0, 2);
    run_steps(free, one, 0, 2);
    EXPECT_EQ(tight.parameter_hash(), free.parameter_hash());
    auto limits = tight.memory_limits();
    EXPECT_EQ(limits[0], static_cast<size_t>(first + 1000));
    EXPECT_EQ(limits[1], static_cast<size_t>(second));
  }
  limit(first, second - 1);
  std::string text = refusal(run, "auto");
  EXPECT_THAT(text, testing::StartsWith(names[1] + ": cannot allocate "));
  EXPECT_THAT(text, HasSubstr("; its own limit, " + run.devices[1] + " in devices, allows "));
  EXPECT_THAT(text, HasSubstr("; " + names[1] + ":"));
}

TEST_P(TowerTrainerMemory, DevicesWithoutALimitShareWhatTheOthersLeave) {
  SmallRun run = run_on_one_twice();
  run.towers = 4;
  int64_t first = total(planned(run, 0)), second = total(planned(run, 1));
  run.devices[0] += ":" + bytes(first);
  EXPECT_EQ(refusal(run, bytes(first + second)), "");
  EXPECT_THAT(refusal(run, bytes(first + second - 1)), HasSubstr("; memory.limit allows "));
  EXPECT_THAT(
      message_of(Category::config, [&] { TowerTrainer(limited(run, bytes(first)), run.place()); }),
      HasSubstr("which leave nothing"));
}

SPIRE_TEST_ON_EACH_KIND(TowerTrainerMemory);

TEST(TrainingMemory, TheGradientOfTheLogitsLiesOnThem) {
  SmallRun run;
  ModelInput input = run.options().input(run.batch_size, true);
  auto build = [&](int64_t, bool) { return build_model(run.model, run.loss, input, true); };
  ParameterLayout layout = make_layout(build, run.batch_size);
  LoweredGraph lowered = lower_for_training(build(0, true), {}, layout, false);
  BufferAssignment memory(lowered.graph, lowered.gradients, layout, true);
  auto loss = std::ranges::find_if(lowered.graph.nodes(), [](const Node& node) {
    return node.op->name() == "softmax_cross_entropy_with_gradient";
  });
  ASSERT_NE(loss, lowered.graph.nodes().end());
  EXPECT_EQ(memory.at(loss->outputs[0]).offset, memory.at(loss->inputs[0]).offset);
}

}  // namespace
}  // namespace spire
