// Trainer: its steps are those of train(), against closed forms and bit for bit.
#include <array>
#include <future>
#include <limits>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "tests/run/api/point_line.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

TEST(TrainerApi, AStepIsTheClosedForm) {
  PointData data(32);
  Trainer trainer(point_config(), data.spec());
  ASSERT_EQ(trainer.global_batch(), 8);
  for (int64_t step = 0; step < 4; ++step) {
    Line expected = after_step(line_of(trainer), data, 8 * step, 8, 0.1);
    StepResult result = trainer.step(data.rows(8 * step, 8));
    EXPECT_EQ(result.step, step + 1);
    EXPECT_EQ(result.samples, 8);
    EXPECT_EQ(result.metric.metric, Metric::rmse);
    EXPECT_NEAR(result.metric.value * result.metric.value, result.loss, 1e-6);
    Line line = line_of(trainer);
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(line[i], expected[i], 1e-6);
  }
  EXPECT_EQ(trainer.steps_done(), 4);
}

TEST(TrainerApi, ASmallerLastBatchHasItsOwnMean) {
  PointData data(13);  // 8, and 5 of which one tower has 4 and the other 1
  Trainer trainer(point_config(), data.spec(), {.train_samples = 13});
  trainer.step(data.rows(0, 8));
  Line expected = after_step(line_of(trainer), data, 8, 5, 0.05);
  StepResult result = trainer.step(data.rows(8, 5), 0.05);
  EXPECT_EQ(result.samples, 5);
  EXPECT_DOUBLE_EQ(result.lr, 0.05);
  Line line = line_of(trainer);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(line[i], expected[i], 1e-6);
}

TEST(TrainerApi, FitsAsTrainDoesBitForBit) {
  PointData data(50);
  RunConfig config = point_config();
  config.data.workers = 2;
  config.schedule.name = ScheduleConfig::Name::cosine;
  Folder folder;
  config.output = folder / "run";
  RunResult run = train(config, {.overwrite = true, .data = data.source()});
  Trainer trainer(config, data.source());
  EvaluationResult result = trainer.fit();
  EXPECT_EQ(fmt::format("{:016x}", trainer.parameter_hash()), run.summary.parameter_hash);
  EXPECT_EQ(trainer.steps_done(), 14);
  EXPECT_EQ(result.samples, 50);
  EXPECT_EQ(result.loss, trainer.evaluate().loss);
}

TEST(TrainerApi, EvaluatesTheMeanOverAllSamples) {
  PointData data(21);
  Trainer trainer(point_config(), data.spec(), {.test_samples = 21});
  Line line = line_of(trainer);
  double sum = 0;
  for (int64_t i = 0; i < 21; ++i) {
    double d = predict(line, data.features.data() + 3 * i) - data.values[static_cast<size_t>(i)];
    sum += d * d;
  }
  EvaluationResult result = trainer.evaluate(data.rows(0, 21));
  EXPECT_EQ(result.samples, 21);
  EXPECT_NEAR(result.loss, sum / 21, 1e-6);
  EXPECT_EQ(line_of(trainer), line);
}

TEST(TrainerApi, PredictsAnyNumberOfRows) {
  PointData data(150);
  Trainer trainer(point_config(), data.spec());
  EXPECT_EQ(trainer.output_shape(), Shape({1}));
  Line line = line_of(trainer);
  std::vector<float> outputs = trainer.predict(data.features.data(), 150);
  ASSERT_EQ(outputs.size(), 150u);
  for (size_t i = 0; i < 150; ++i)
    EXPECT_NEAR(outputs[i], predict(line, data.features.data() + 3 * i), 1e-6);
}

TEST(TrainerApi, WrittenWeightsAreThoseThatItTrainsFrom) {
  PointData data(8);
  Trainer trainer(point_config({"2xcpu"}), data.spec());
  std::vector<float> weight = {2, -1, 0.5f}, bias = {1};
  trainer.write_weight("dense.weight", weight);
  trainer.write_weight("dense.bias", bias);
  EXPECT_EQ(line_of(trainer), (Line{2, -1, 0.5, 1}));
  EXPECT_NEAR(trainer.step(data.rows(0, 8)).loss, 0, 1e-10);
  ASSERT_EQ(trainer.weights().size(), 2u);
  EXPECT_EQ(trainer.weights()[1].name, "dense.weight");
  EXPECT_EQ(trainer.weights()[1].shape, Shape({1, 3}));
  EXPECT_TRUE(trainer.weights()[1].trained);
}

RunConfig adam_config(std::vector<std::string> devices = {"cpu:0"}) {
  RunConfig config = point_config(std::move(devices));
  config.model = {.name = "mlp", .hidden = {16}};
  config.optimizer.name = OptimizerConfig::Name::adam;
  config.optimizer.lr = 0.01;
  return config;
}

TEST(TrainerApi, ALoadedCheckpointContinuesWithTheSameBits) {
  PointData data(64);
  Folder folder;
  fs::path file = folder / "trainer_api.h5";
  std::vector<std::byte> bytes;
  Trainer whole(adam_config(), data.spec());
  for (int64_t first = 0; first < 64; first += 8) {
    whole.step(data.rows(first, 8));
    if (first == 24) whole.save(file), bytes = whole.save();
  }
  for (bool in_memory : {false, true}) {
    Trainer resumed(adam_config({"2xcpu"}), data.spec());
    in_memory ? resumed.load(bytes) : resumed.load(file);
    EXPECT_EQ(resumed.steps_done(), 4);
    for (int64_t first = 32; first < 64; first += 8) resumed.step(data.rows(first, 8));
    EXPECT_EQ(resumed.parameter_hash(), whole.parameter_hash());
  }
  bytes[bytes.size() / 2] ^= std::byte{1};
  expect_error(Category::checkpoint, "checksum", [&] { whole.load(bytes); });
  expect_error(Category::checkpoint, "", [&] { whole.load(std::span<const std::byte>()); });
}

TEST(TrainerApi, TrainersOnThreadsDoNotTouchEachOther) {
  auto train_one = [](uint64_t seed) {
    PointData data(64);
    RunConfig config = adam_config();
    config.seed = seed;
    Trainer trainer(config, data.spec());
    for (int64_t first = 0; first < 64; first += 8) trainer.step(data.rows(first, 8));
    return trainer.parameter_hash();
  };
  std::array<uint64_t, 2> alone = {train_one(1), train_one(2)}, together{};
  {
    std::jthread first([&] { together[0] = train_one(1); });
    std::jthread second([&] { together[1] = train_one(2); });
  }
  EXPECT_NE(alone[0], alone[1]);
  EXPECT_EQ(together, alone);
}

TEST(TrainerApi, CallbacksSeeEachStepAndEndIt) {
  PointData data(20);
  Trainer trainer(point_config(), data.source());
  std::vector<int64_t> steps, epochs;
  trainer.fit({.on_step =
                   [&](const StepResult& step) {
                     steps.push_back(step.step);
                     return true;
                   },
               .on_epoch =
                   [&](int64_t epoch, const EvaluationResult&) {
                     epochs.push_back(epoch);
                     return epoch < 2;
                   }});
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(epochs, (std::vector<int64_t>{1, 2}));
  trainer.fit();  // nothing is left
  EXPECT_EQ(trainer.steps_done(), 6);
  trainer.fit({.steps = 5, .on_step = [](const StepResult&) { return false; }});
  EXPECT_EQ(trainer.steps_done(), 7);
  std::atomic<bool> stop = true;
  trainer.fit({.steps = 5, .stop = &stop});
  EXPECT_EQ(trainer.steps_done(), 7);
}

TEST(TrainerApi, AnExceptionOfACallbackReachesTheCaller) {
  PointData data(20);
  Trainer trainer(point_config(), data.source());
  auto fails = [](const StepResult&) -> bool { throw std::out_of_range("mine"); };
  EXPECT_THROW(trainer.fit({.on_step = fails}), std::out_of_range);
  EXPECT_EQ(trainer.fit().samples, 20);  // it goes on
}

TEST(TrainerApi, ACallbackMayCallAnyMethod) {
  PointData data(20);
  Trainer trainer(point_config(), data.source());
  Folder folder;
  fs::path file = folder / "in_callback.h5";
  uint64_t hash = 0;
  trainer.fit({.on_epoch = [&](int64_t, const EvaluationResult& result) {
    trainer.save(file);
    hash = trainer.parameter_hash();
    EXPECT_EQ(trainer.evaluate().loss, result.loss);
    return true;
  }});
  Trainer loaded(point_config(), data.source());
  loaded.load(file);
  EXPECT_EQ(loaded.parameter_hash(), hash);
}

TEST(TrainerApi, AFitThatIsSavedAndLoadedHasTheBitsOfOne) {
  PointData data(50);
  Folder folder;
  fs::path file = folder / "halves.h5";
  RunConfig config = adam_config();
  config.schedule.name = ScheduleConfig::Name::cosine;
  Trainer whole(config, data.source());
  whole.fit();
  Trainer half(config, data.source()), rest(config, data.source());
  half.fit({.steps = 9});
  half.save(file);
  rest.load(file);
  rest.fit();
  EXPECT_EQ(rest.steps_done(), whole.steps_done());
  EXPECT_EQ(rest.parameter_hash(), whole.parameter_hash());
}

TEST(TrainerApi, ACallbackThatLoadsSetsTheFitBackToThatStep) {
  PointData data(50);
  Folder folder;
  fs::path file = folder / "set_back.h5";
  Trainer straight(adam_config(), data.source()), set_back(adam_config(), data.source());
  straight.fit();
  int64_t steps = 0;
  set_back.fit({.on_step = [&](const StepResult& step) {
    ++steps;
    if (steps == 3) set_back.save(file);
    if (steps == 8) set_back.load(file);
    EXPECT_EQ(step.step, steps <= 8 ? steps : steps - 5);
    return true;
  }});
  EXPECT_EQ(set_back.steps_done(), straight.steps_done());
  EXPECT_EQ(steps, straight.steps_done() + 5);
  EXPECT_EQ(set_back.parameter_hash(), straight.parameter_hash());
}

// Adam's own count lags behind the step by those that the guard left out.
TEST(TrainerApi, GoesOnFromARunWhoseGuardLeftStepsOut) {
  PointData clean(50), spoiled(50);
  spoiled.values[20] = std::numeric_limits<float>::quiet_NaN();
  RunConfig config = adam_config();
  config.guard.on_bad_step = GuardConfig::OnBadStep::skip;
  config.steps = 7;  // an epoch
  Folder folder;
  config.output = folder / "run";
  train(config, {.overwrite = true, .data = array_source(spoiled.arrays(), clean.arrays())});
  config.steps = 14;
  Trainer trainer(config, clean.source());
  trainer.load(fs::path(config.output) / "checkpoints" / "step_00000007.h5");
  trainer.fit();
  fs::path file = fs::path(config.output) / "again.h5";
  trainer.save(file);
  Trainer again(config, clean.source());
  again.load(file);
  RunResult run = train(config, {.resume = "auto", .data = clean.source()});
  EXPECT_EQ(fmt::format("{:016x}", trainer.parameter_hash()), run.summary.parameter_hash);
  again.fit({.steps = 2});
  trainer.fit({.steps = 2});
  EXPECT_EQ(again.parameter_hash(), trainer.parameter_hash());
}

TEST(TrainerApi, RefusesACheckpointOfAnotherRun) {
  PointData data(16);
  Folder folder;
  fs::path file = folder / "another.h5";
  Trainer saved(point_config(), data.spec());
  saved.save(file);
  RunConfig config = point_config();
  config.seed = 8;
  Trainer other(config, data.spec());
  expect_error(Category::config, "seed: 8, but ", [&] { other.load(file); });
  config = adam_config();
  Trainer larger(config, data.spec());
  expect_error(Category::checkpoint, "dense", [&] { larger.load(file); });
}

// Ranks as threads of this process: a callback of one ends all.
TEST(TrainerApi, RanksFitWithTheSameBitsAndEndTogether) {
  PointData data(40);
  Trainer alone(point_config(), data.source());
  alone.fit({.steps = 4});
  std::vector<std::unique_ptr<World>> worlds = threads_world(2);
  std::array<uint64_t, 2> hashes{};
  std::array<int64_t, 2> steps{};
  {
    std::vector<std::jthread> threads;
    for (size_t rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        Trainer trainer(point_config(), data.source(), {.world = worlds[rank].get()});
        trainer.fit(
            {.on_step = [&](const StepResult& step) { return rank == 0 || step.step < 3; }});
        steps[rank] = trainer.steps_done();
        hashes[rank] = trainer.parameter_hash();
      });
  }
  EXPECT_EQ(steps[0], 4);
  EXPECT_EQ(steps[1], 4);
  EXPECT_EQ(hashes[0], alone.parameter_hash());
  EXPECT_EQ(hashes[1], alone.parameter_hash());
}

TEST(TrainerApi, ACallbackThatThrowsOnOneRankEndsAllOfThem) {
  PointData data(40);
  std::vector<std::unique_ptr<World>> worlds = threads_world(2);
  std::array<std::future<int64_t>, 2> steps;
  for (size_t rank = 0; rank < 2; ++rank)
    steps[rank] = std::async(std::launch::async, [&, rank] {
      Trainer trainer(point_config(), data.source(), {.world = worlds[rank].get()});
      auto throws_late = [&](const StepResult& step) -> bool {
        if (rank == 1 && step.step == 3) throw std::out_of_range("mine");
        return true;
      };
      if (rank == 0)
        trainer.fit({.on_step = throws_late});
      else
        EXPECT_THROW(trainer.fit({.on_step = throws_late}), std::out_of_range);
      return trainer.steps_done();
    });
  EXPECT_EQ(steps[0].get(), 4);
  EXPECT_EQ(steps[1].get(), 4);
}

// What fit() keeps for later is made anew, and the bits stay.
TEST(TrainerApi, TellsItsMemoryAndGivesBackWhatIsKeptForLater) {
  PointData data(40);
  RunConfig config = point_config();
  config.devices = {"2xcpu"};
  config.towers = 2;
  Trainer kept(config, data.source()), released(config, data.source());
  std::vector<TrainerMemory> before = kept.memory();
  ASSERT_EQ(before.size(), 2u);
  EXPECT_EQ(before[0].device, "cpu:0");
  EXPECT_EQ(before[1].device, "cpu:1");
  for (const TrainerMemory& memory : before) {
    int64_t sum = 0;
    for (const auto& [kind, bytes] : memory.kinds) sum += bytes;
    EXPECT_EQ(memory.in_use, sum);
    EXPECT_GT(memory.in_use, 0);
    EXPECT_EQ(memory.peak, memory.in_use);  // all is allocated, and nothing freed
  }
  for (Trainer* trainer : {&kept, &released}) trainer->fit({.steps = 3});
  released.release_memory();
  EXPECT_EQ(released.memory()[0].in_use, before[0].in_use);
  for (Trainer* trainer : {&kept, &released}) trainer->fit({.steps = 3});
  EXPECT_EQ(released.parameter_hash(), kept.parameter_hash());
  EXPECT_EQ(released.evaluate().loss, kept.evaluate().loss);
}

TEST(TrainerApi, AMovedTrainerGoesOn) {
  PointData data(8);
  Trainer first(point_config(), data.spec());
  first.step(data.rows(0, 8));
  Trainer second = std::move(first);
  EXPECT_EQ(second.step(data.rows(0, 8)).step, 2);
}

TEST(TrainerApi, RefusesBatchesThatDoNotFit) {
  PointData data(16);
  Trainer trainer(point_config(), data.spec());
  auto step = [&](const Samples& samples) { return [&, samples] { trainer.step(samples); }; };
  expect_error(Category::config, "a batch of 7, but the global batch is 8", step(data.rows(0, 7)));
  expect_error(Category::config, "count is 0; it is the number of rows", step(data.rows(0, 0)));
  expect_error(Category::config, "1 column given, but the data has 2",
               step({{data.features.data()}, 8}));
  expect_error(Category::config, "column 'values' is null",
               step({{data.features.data(), nullptr}, 8}));
  expect_error(Category::config, "there are none to evaluate",
               [&] { trainer.evaluate(data.rows(0, 0)); });
  EXPECT_EQ(trainer.step(data.rows(0, 8)).step, 1);  // nothing has changed
}

// -1 in place of 0 would make the loss endlessly negative.
TEST(TrainerApi, BinaryLabelsAreZeroOrOne) {
  PointData data(8);
  RunConfig config = point_config();
  config.loss.name = LossConfig::Name::binary;
  Trainer trainer(config, data.spec());
  std::vector<float> values = {0, 1, 1, 0, -1, 1, 0, 1};
  Samples samples{{data.features.data(), values.data()}, 8};
  for (auto call : {+[](Trainer&t, const Samples&s) { t.step(s); },
                    +[](Trainer&t, const Samples&s) { t.evaluate(s); }})
    expect_error(Category::data, "Samples: sample 4: value 0 is -1",
                 [&] { call(trainer, samples); });
  values[4] = 0;
  EXPECT_EQ(trainer.step(samples).step, 1);
}

// Nothing is trained before: the hash stays.
TEST(TrainerApi, RefusesLabelsAndTokensOutOfRange) {
  PointData data(8);
  SampleSpec spec;
  spec.columns = {{"features", {3}, DType::f32}, {"labels", {}, DType::i32}};
  spec.classes = 3;
  Trainer trainer(point_config({"2xcpu"}), spec);
  uint64_t hash = trainer.parameter_hash();
  std::vector<int32_t> labels = {0, 1, 2, 0, 1, 2, 3, 0};
  Samples samples{{data.features.data(), labels.data()}, 8};
  auto step = [&] { trainer.step(samples); };
  expect_error(Category::data, "sample 6: column 'labels' has 3; numbers are 0 to 2", step);
  expect_error(Category::data, "sample 6: column 'labels' has 3",
               [&] { trainer.evaluate(samples); });
  labels[6] = -1;
  expect_error(Category::data, "sample 6: column 'labels' has -1; numbers are 0 to 2", step);
  EXPECT_EQ(trainer.parameter_hash(), hash);
  labels[6] = 2;
  EXPECT_EQ(trainer.step(samples).step, 1);

  RunConfig config = point_config();
  config.model.name = "gpt";
  config.model.blocks = config.model.heads = 1;
  config.model.width = 8;
  spec.columns = {{"tokens", {4}, DType::i32}, {"targets", {4}, DType::i32}};
  spec.classes = 10;
  Trainer text(config, spec);
  std::vector<int32_t> tokens(32, 9), targets(32, 0);
  targets[14] = 10;
  expect_error(Category::data,
               "sample 3: column 'targets' has 10 at position 2; numbers are 0 to 9", [&] {
                 text.step({{tokens.data(), targets.data()}, 8});
               });
  tokens[5] = -2;
  expect_error(Category::data, "sample 1: column 'tokens' has -2 at position 1",
               [&] { text.predict(tokens.data(), 8); });
  spec.columns.push_back({"positions", {4}, DType::i32});
  Trainer packed(config, spec);
  std::vector<int32_t> zeros(32), places(32, 0);
  places[14] = 2;
  expect_error(Category::data, "sample 3: column 'positions' has 2 at position 2", [&] {
    packed.step({{zeros.data(), zeros.data(), places.data()}, 8});
  });
}

TEST(TrainerApi, RefusesWhatItDoesNotHave) {
  PointData data(16);
  Trainer trainer(point_config(), data.spec(), {.predict_rows = 0});
  std::vector<float> two(2), three(3);
  expect_error(Category::config, "no weight 'dense.wait'",
               [&] { trainer.read_weight("dense.wait", three); });
  expect_error(Category::config, "are 3 numbers, not 2",
               [&] { trainer.write_weight("dense.weight", two); });
  expect_error(Category::config, "make it with a DataSource", [&] { trainer.fit(); });
  expect_error(Category::config, "make it with a DataSource", [&] { trainer.evaluate(); });
  expect_error(Category::config, "predict_rows is 0",
               [&] { trainer.predict(data.features.data(), 1); });
  Trainer predicts(point_config(), data.spec());
  expect_error(Category::config, "there are no rows", [&] { predicts.predict(nullptr, 1); });
  expect_error(Category::checkpoint, "no_such.h5", [&] { trainer.load("no_such.h5"); });
  RunConfig cosine = point_config();
  cosine.schedule.name = ScheduleConfig::Name::cosine;
  expect_error(Category::config, "it needs the length of the run",
               [&] { Trainer bad(cosine, data.spec()); });
  cosine.steps = 10;
  Trainer fits(cosine, data.spec());
  RunConfig mixed = point_config();
  mixed.data.augment.mixup = 0.2;
  expect_error(Category::config, "mixup and cutmix mix samples of datasets",
               [&] { Trainer bad(mixed, data.spec()); });
  expect_error(Category::config, "predict_rows: -1 is negative",
               [&] { Trainer bad(point_config(), data.spec(), {.predict_rows = -1}); });
  expect_error(Category::config, "a negative number of samples",
               [&] { Trainer bad(point_config(), data.spec(), {.train_samples = -1}); });
}

}  // namespace
}  // namespace spire
