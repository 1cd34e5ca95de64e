// A Trainer in programs: batches of any size, weights of other runs, its own callbacks, and a child
// process.
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include <unistd.h>

#include "tests/run/api/point_line.h"

namespace spire {
namespace {

TEST(TrainerUses, TakesBatchesOfAnySizeIfItIsTold) {
  PointData data(13);
  Trainer trainer(point_config(), data.spec(), {.any_batch = true});
  for (int64_t rows = 1; rows <= 8; ++rows) {  // towers have 4 samples, fewer, and none
    Line expected = after_step(line_of(trainer), data, 2, rows, 0.05);
    EXPECT_EQ(trainer.step(data.rows(2, rows), 0.05).samples, rows);
    Line line = line_of(trainer);
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(line[i], expected[i], 1e-6) << rows;
  }
  EXPECT_EQ(trainer.evaluate(data.rows(0, 13)).samples, 13);
  expect_error(Category::config, "a batch of 9", [&] { trainer.step(data.rows(0, 9)); });
  Trainer on_data(point_config(), data.source(), {.any_batch = true});
  EXPECT_EQ(on_data.step(data.rows(0, 3)).samples, 3);
}

// Weights alone go to a trainer of another batch, towers and optimizer.
TEST(TrainerUses, ReadsTheWeightsOfAnotherRun) {
  PointData data(16);
  Folder folder;
  std::string file = folder / "state.h5";
  Trainer trainer(point_config(), data.source());
  trainer.fit({.steps = 2});
  trainer.save(file);
  RunConfig config = point_config();
  config.batch_size = 8;
  config.towers = 1;
  config.optimizer.name = OptimizerConfig::Name::adam;
  Trainer other(config, data.source());
  other.fit({.steps = 1});
  other.load_weights({.from = file});
  EXPECT_EQ(other.parameter_hash(), trainer.parameter_hash());
  EXPECT_EQ(other.steps_done(), 1);
  other.fit({.steps = 1});
  other.load_weights(trainer.save());
  EXPECT_EQ(other.parameter_hash(), trainer.parameter_hash());
  expect_error(Category::config, "names no file", [&] { other.load_weights(InitConfig{}); });
  expect_error(Category::checkpoint, "/nowhere", [&] { other.load_weights({.from = "/nowhere"}); });
  uint64_t hash = other.parameter_hash();
  RunConfig wide = point_config();
  wide.model = {.name = "mlp", .hidden = {4}};
  Trainer mlp(wide, data.source());
  mlp.save(file);
  EXPECT_THROW(other.load_weights({.from = file}), Error);
  EXPECT_EQ(other.parameter_hash(), hash);
}

// A target in the first place would be the model's input, and learned at once.
TEST(TrainerUses, TheFirstColumnIsNoTarget) {
  SampleSpec spec;
  spec.columns = {{"values", {1}, DType::f32}, {"features", {3}, DType::f32}};
  expect_error(Category::config,
               "the first column is 'values', with which a loss compares; the "
               "model reads the first one: put 'features' there",
               [&] { Trainer trainer(point_config(), spec); });
}

TEST(TrainerUses, FitIsNotCalledByItsCallbacks) {
  PointData data(16);
  Trainer trainer(point_config(), data.source());
  expect_error(Category::config, "fit(): called by a callback of fit()", [&] {
    trainer.fit({.steps = 2, .on_step = [&](const StepResult&) {
                   trainer.fit({.steps = 1});
                   return true;
                 }});
  });
  trainer.fit({.steps = 1});
}

// As safetensors, which have no state of the optimizer.
TEST(TrainerUses, WritesWeightsAlone) {
  PointData data(16);
  Folder folder;
  std::string file = folder / "weights.safetensors";
  RunConfig averaging = point_config();
  averaging.ema.decay = 0.5;
  Trainer trainer(point_config(), data.source()), other(point_config(), data.source());
  Trainer averaged(averaging, data.source());
  averaged.fit({.steps = 2});
  other.load_weights(averaged.save_weights());
  EXPECT_EQ(other.evaluate().loss, averaged.evaluate().loss);
  trainer.fit({.steps = 2});
  trainer.save_weights(file);
  other.load_weights({.from = file});
  EXPECT_EQ(other.parameter_hash(), trainer.parameter_hash());
  trainer.fit({.steps = 1});
  trainer.save_weights(file);  // replaces it
  std::vector<std::byte> bytes = trainer.save_weights();
  EXPECT_EQ(bytes.size(), std::filesystem::file_size(file));
  other.load_weights(bytes);
  EXPECT_EQ(other.parameter_hash(), trainer.parameter_hash());
  EXPECT_EQ(other.steps_done(), 0);
  expect_error(Category::config, "/nowhere", [&] { trainer.save_weights("/nowhere/w"); });
  expect_error(Category::checkpoint, "in memory",
               [&] { other.load_weights(std::span(bytes).first(9)); });
}

TEST(TrainerUses, ChangesItsOptimizerBetweenSteps) {
  PointData data(8);
  Trainer trainer(point_config(), data.spec());
  trainer.step(data.rows(0, 8));
  OptimizerConfig optimizer = trainer.config().optimizer;
  optimizer.lr = 0.05;
  optimizer.lr_factors = {{"*.bias", 0}};  // frozen
  trainer.set_optimizer(optimizer);
  Line expected = after_step(line_of(trainer), data, 0, 8, 0.05), before = line_of(trainer);
  EXPECT_EQ(trainer.step(data.rows(0, 8)).lr, 0.05);
  Line line = line_of(trainer);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(line[i], expected[i], 1e-6) << i;
  EXPECT_EQ(line[3], before[3]);
  EXPECT_EQ(trainer.config().optimizer.lr, 0.05);

  auto refused = [&](const std::string& words, auto change) {
    OptimizerConfig other = optimizer;
    change(other);
    expect_error(Category::config, words, [&] { trainer.set_optimizer(other); });
  };
  refused("set_optimizer(): another optimizer",
          [](OptimizerConfig& other) { other.name = OptimizerConfig::Name::adam; });
  refused("optimizer.lr: ", [](OptimizerConfig& other) { other.lr = -1; });
  refused("optimizer.lr_factors", [](OptimizerConfig& other) { other.lr_factors = {{"x", 1}}; });
  EXPECT_EQ(trainer.config().optimizer.lr, 0.05);
}

TEST(TrainerUses, WarmsUpWithoutATrace) {
  PointData data(8);
  for (const char* devices : {"cpu:0", "2xcpu"}) {
    RunConfig config = point_config({devices});
    config.ema.decay = 0.9;
    Trainer warm(config, data.spec()), cold(config, data.spec());
    warm.warm_up();
    EXPECT_EQ(warm.steps_done(), 0);
    EXPECT_EQ(warm.parameter_hash(), cold.parameter_hash());
    warm.step(data.rows(0, 8)), cold.step(data.rows(0, 8));
    EXPECT_EQ(warm.save().size(), cold.save().size());
    EXPECT_EQ(warm.parameter_hash(), cold.parameter_hash());
    EXPECT_EQ(warm.evaluate(data.rows(0, 8)).loss, cold.evaluate(data.rows(0, 8)).loss);
  }
}

TEST(TrainerUses, PlansItsMemoryBeforeItIsMade) {
  PointData data(8);
  RunConfig config = point_config({"2xcpu"});
  config.model = {.name = "mlp", .hidden = {32}};
  std::vector<TrainerMemory> plan = Trainer::plan_memory(config, data.spec());
  Trainer trainer(config, data.spec());
  trainer.step(data.rows(0, 8));
  std::vector<TrainerMemory> made = trainer.memory();
  ASSERT_EQ(plan.size(), 2u);
  for (size_t d = 0; d < 2; ++d) {
    EXPECT_EQ(plan[d].device, made[d].device);
    EXPECT_GT(plan[d].planned, 0);
    EXPECT_EQ(plan[d].planned, made[d].planned);
    EXPECT_EQ(plan[d].planned, made[d].peak);
    EXPECT_EQ(plan[d].in_use, 0);
    EXPECT_EQ(plan[d].kinds, made[d].kinds);
  }
  EXPECT_EQ(Trainer::plan_memory(config, data.source())[0].planned, plan[0].planned);
}

TEST(TrainerUses, NamesTheNumberOfABatchThatIsNotFinite) {
  PointData data(8);
  data.features[3 * 5 + 1] = std::nanf("");
  std::string words =
      "; column 'features' of sample 5 is nan; it changed nothing; leave such "
      "samples out, or mend them";
  Trainer trainer(point_config(), data.spec());
  expect_error(Category::diverged, words, [&] { trainer.step(data.rows(0, 8)); });
  trainer.compute_gradients(data.rows(0, 8));
  expect_error(Category::diverged, words, [&] { trainer.update(); });
  Trainer on_data(point_config(), data.source());
  expect_error(Category::diverged, "; column 'features' of sample 5 is nan; it changed nothing",
               [&] { on_data.fit(); });
}

// Ranks as threads of this process: all change, or none does.
TEST(TrainerUses, RanksChangeTheirOptimizerTogether) {
  PointData data(8), bad(8);
  bad.features[3 * 6] = INFINITY;  // in the rows of the second rank
  auto steps = [&](Trainer& trainer, size_t rank, bool alone) {
    trainer.warm_up();
    trainer.step(data.rows(0, 8));
    OptimizerConfig optimizer = trainer.config().optimizer;
    optimizer.lr = rank == 0 ? 0.05 : 0.04;
    if (!alone)
      expect_error(Category::config,
                   "optimizer.lr: 0.05 on rank 0, but 0.04 on rank 1; all ranks need the same",
                   [&] { trainer.set_optimizer(optimizer); });
    optimizer.lr = 0.05;
    trainer.set_optimizer(optimizer);
    trainer.step(data.rows(0, 8));
    if (!alone)
      expect_error(Category::diverged, rank == 0 ? "optimizer.clip_norm" : "of sample 6 is inf",
                   [&] { trainer.step(bad.rows(0, 8)); });
    EXPECT_EQ(trainer.save_weights().empty(), rank > 0);
    return trainer.parameter_hash();
  };
  Trainer single(point_config(), data.spec());
  uint64_t expected = steps(single, 0, true);
  std::vector<std::unique_ptr<World>> worlds = threads_world(2);
  std::vector<std::jthread> threads;
  for (size_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      Trainer trainer(point_config(), data.spec(), {.world = worlds[rank].get()});
      EXPECT_EQ(steps(trainer, rank, false), expected);
    });
}

// The second thread is told so, and changes nothing.
TEST(TrainerUses, IsCalledByOneThreadAtATime) {
  PointData data(8);
  Trainer trainer(point_config(), data.source());
  trainer.fit({.steps = 3, .on_step = [&](const StepResult&) {
                 trainer.step(data.rows(0, 8));  // of the same thread
                 trainer.release_memory();
                 return true;
               }});
  std::mutex mutex;
  std::condition_variable changed;
  bool inside = false, goes_on = false;
  auto receive = [&](int, const std::string&, std::span<const float>) {
    std::unique_lock lock(mutex);
    inside = true;
    changed.notify_all();
    changed.wait(lock, [&] { return goes_on; });
  };
  std::thread first([&] { trainer.compute_gradients(data.rows(0, 8), receive); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return inside; });
  }
  const Samples rows = data.rows(0, 8);
  std::vector<float> weight(3);
  const std::vector<std::function<void()>> calls = {
      [&] { trainer.step(rows); },
      [&] { trainer.evaluate(rows); },
      [&] { trainer.evaluate(); },
      [&] { trainer.fit(); },
      [&] { trainer.compute_gradients(rows); },
      [&] { trainer.gradient("dense.bias"); },
      [&] { trainer.update(); },
      [&] { trainer.reject(); },
      [&] { trainer.warm_up(); },
      [&] { trainer.set_optimizer(trainer.config().optimizer); },
      [&] { trainer.predict(data.features.data(), 8); },
      [&] { trainer.read_weight("dense.weight", weight); },
      [&] { trainer.write_weight("dense.weight", weight); },
      [&] { trainer.parameter_hash(); },
      [&] { trainer.release_memory(); },
      [&] { (void)trainer.save(); },
      [&] { trainer.load(std::span<const std::byte>()); },
      [&] { (void)trainer.save_weights(); },
      [&] { trainer.load_weights(InitConfig{}); },
      [&] { InferenceSession session(trainer); }};
  for (size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE(i);
    expect_error(Category::config, "two threads call this Trainer at once", calls[i]);
  }
  {
    std::lock_guard lock(mutex);
    goes_on = true;
  }
  changed.notify_all();
  first.join();
  trainer.update();
}

// As libraries hand them out: DLTensor of https://dmlc.github.io/dlpack.
struct DlpackOfPoints {
  struct {
    int device_type = 1;
    int32_t device_id = 0;
  } device;
  struct {
    uint8_t code = 2, bits = 32;
    uint16_t lanes = 1;
  } dtype;
  void* data = nullptr;
  int32_t ndim = 2;
  int64_t* shape = nullptr;
  int64_t* strides = nullptr;
  uint64_t byte_offset = 0;
};

TEST(TrainerUses, TakesTensorsByDlpack) {
  PointData data(16);
  int64_t shape[2][2] = {{8, 3}, {8, 1}}, strides[2] = {6, 1};
  DlpackOfPoints features, values;
  features.data = data.features.data();
  features.shape = shape[0];
  features.strides = strides;  // every second row
  values.data = data.values.data();
  values.shape = shape[1];
  values.byte_offset = 8 * sizeof(float);
  Array x = array("features", features), y = array("values", values);
  EXPECT_EQ(x.strides, (std::vector<int64_t>{6, 1}));
  EXPECT_EQ(y.data, data.values.data() + 8);
  EXPECT_TRUE(y.strides.empty());
  Trainer trainer(point_config(), data.spec());
  trainer.step({{x, y}, 8});
  values.device.device_type = 2;
  values.device.device_id = 3;
  EXPECT_EQ(array("values", values).device, (DeviceId{DeviceKind::cuda, 3}));
  values.device.device_type = 8;
  expect_error(Category::config, "array 'values': it is neither in the host's memory",
               [&] { array("values", values); });
  features.dtype.code = 0;
  EXPECT_EQ(array("features", features).dtype, DType::i32);
  features.dtype.bits = 64;
  expect_error(Category::config, "its dtype is none of float32",
               [&] { array("features", features); });
  features.dtype.lanes = 4;
  expect_error(Category::config, "its dtype is none of float32",
               [&] { array("features", features); });
}

// A child has none of its parent's threads: it is told so, and ends without them.
TEST(TrainerUses, IsOfNoUseInAChildOfFork) {
  PointData data(8);
  for (const char* devices : {"cpu:0", "2xcpu"}) {
    auto trainer = std::make_unique<Trainer>(point_config({devices}), data.spec());
    trainer->step(data.rows(0, 8));
    pid_t child = fork();
    if (child == 0) {
      std::string text = message_of(Category::config, [&] { trainer->step(data.rows(0, 8)); });
      trainer.reset();
      _exit(text.find("a child made by fork() has none of its threads") != std::string::npos ? 0
                                                                                             : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << devices;
    trainer->step(data.rows(0, 8));
  }
}

}  // namespace
}  // namespace spire
