// Tests distillation: what a model learns from a teacher, on which devices it has the same bits,
// and that its teacher is no part of it.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/finetuning.h"
#include "engine/train/state_tensors.h"
#include "models/teacher.h"
#include "tests/base/message_of.h"
#include "tests/train/same_hash.h"

namespace spire {
namespace {

using testing::HasSubstr;

std::shared_ptr<Teacher> teacher_of(const ModelConfig& model, const TrainingState& state,
                                    const DistillConfig& config) {
  auto known = std::make_shared<std::map<std::string, NamedTensor>>();
  for (const auto* group : {&state.weights, &state.states})
    for (const NamedTensor& tensor : *group) (*known)[tensor.name] = tensor;
  auto teacher = std::make_shared<Teacher>();
  teacher->model = model;
  teacher->config = config;
  teacher->values = [known](const std::string& name, const Shape& shape) -> Initializer {
    const std::vector<float>& values = known->at(name).values;
    require(known->at(name).shape == shape, "a teacher of another shape");
    return [&values, known](const RandomStream&, int64_t first, std::span<float> out) {
      std::copy_n(values.begin() + first, out.size(), out.begin());
    };
  };
  return teacher;
}

class Distillation : public SameHash {
 protected:
  SmallRun student() const {
    SmallRun run;
    run.devices = devices(1);
    return run;
  }
  // A convolutional net with batch norm and dropout, of other widths, after some steps.
  SmallRun teacher_run() const {
    SmallRun run = student();
    run.model.channels = {6, 4};
    run.model.normalization = ModelConfig::Normalization::batch_norm;
    run.model.dropout = 0.5;
    run.seed = 11;
    return run;
  }
  static std::shared_ptr<Teacher> trained(const SmallRun& run, const DistillConfig& config) {
    return teacher_of(run.model, state_after(run, 5), config);
  }
};

TEST_P(Distillation, TheTeacherIsNoPartOfTheModel) {
  SmallRun run = student();
  TrainingState alone = state_after(run, 2);
  auto planned = [&] {
    TowerTrainer trainer = planned_trainer(run);
    return std::pair{trainer.layout(), trainer.planned_memory()[0]};
  };
  auto [own, own_memory] = planned();
  run.teacher = trained(teacher_run(), {.weight = 0.5});
  auto [layout, memory] = planned();
  EXPECT_EQ(layout.parameter_count(), own.parameter_count());
  EXPECT_EQ(layout.frozen_count(), 0);
  EXPECT_EQ(layout.model_floats(), own.total_floats());
  EXPECT_EQ(layout.by_name().size(), own.entries().size());
  EXPECT_GT(layout.total_floats(), layout.model_floats());
  for (size_t k = 0; k < memory.size(); ++k) {
    const auto& [kind, bytes] = memory[k];
    if (kind == "weights") {
      EXPECT_GE(bytes - own_memory[k].second, 4 * (layout.total_floats() - own.total_floats()));
    }
    if ((kind == "optimizer" && !on_gpu()) || kind == "checkpoint") {  // a GPU has tables there
      EXPECT_EQ(bytes, own_memory[k].second) << kind;
    }
  }
  TrainingState state = state_after(run, 2);
  ASSERT_EQ(state.weights.size(), alone.weights.size());
  EXPECT_EQ(state.states.size(), alone.states.size());
  bool differs = false;
  for (size_t i = 0; i < state.weights.size(); ++i) {
    EXPECT_EQ(state.weights[i].name, alone.weights[i].name);
    differs |= state.weights[i].values != alone.weights[i].values;
  }
  EXPECT_TRUE(differs);  // it learns from the teacher
}

// The student is the teacher, with frozen convolutions, whose batch norms use their running
// statistics: nothing is left to learn unless the teacher drops activations or normalizes by the
// batch.
TEST_P(Distillation, TheTeacherIsEvaluated) {
  SmallRun teaching = teacher_run();
  TrainingState state = state_after(teaching, 5);
  SmallRun run = teaching;
  run.model.dropout = 0;
  run.freeze.patterns = {"conv*"};
  run.optimizer = {.name = OptimizerConfig::Name::sgd, .lr = 1, .momentum = 0};
  run.teacher = teacher_of(teaching.model, state, {.temperature = 2, .weight = 1});
  TowerTrainer trainer(run.options(), run.place());
  auto set = [&](const ParameterEntry& entry, std::span<float> values) {
    for (const auto* group : {&state.weights, &state.states})
      for (const NamedTensor& tensor : *group)
        if (tensor.name == entry.name) std::ranges::copy(tensor.values, values.begin());
  };
  trainer.team().lead([&] { trainer.set_weights(set); });
  uint64_t before = trainer.parameter_hash();
  StepOutcome outcome = run_steps(trainer, run, 0, 1);
  EXPECT_EQ(outcome.loss, 0);
  EXPECT_EQ(outcome.grad_norm, 0);
  EXPECT_EQ(trainer.parameter_hash(), before);
}

// Shares of the labels and of the teacher add up.
TEST_P(Distillation, LossesAreMixedByTheWeight) {
  SmallRun run = student();
  auto loss_with = [&](double weight) {
    run.teacher = trained(teacher_run(), {.temperature = 3, .weight = weight});
    TowerTrainer trainer(run.options(), run.place());
    return run_steps(trainer, run, 0, 1).loss;
  };
  run.model.dropout = 0;
  double labels = loss_with(0), taught = loss_with(1);
  EXPECT_GT(std::abs(labels - taught), 0.01);
  EXPECT_NEAR(loss_with(0.25), 0.75 * labels + 0.25 * taught, 1e-6);
}

TEST_P(Distillation, EvaluationsLookAtTheLabelsAlone) {
  auto evaluated = [&](const SmallRun& run) {
    TowerTrainer trainer(run.options(), run.place());
    return evaluate(trainer, run, run.dataset()).loss;
  };
  SmallRun run = student();
  double alone = evaluated(run);
  run.teacher = trained(teacher_run(), {.weight = 1});
  EXPECT_EQ(evaluated(run), alone);
}

TEST_P(Distillation, HasOneHashOnAnyDevicesStrategiesAndRanks) {
  for (DType precision : {DType::f32, DType::bf16}) {
    SmallRun run = student();
    run.teacher = trained(teacher_run(), {.temperature = 2, .weight = 0.7});
    run.precision = precision;
    run.ema = {.decay = 0.9};
    expect_one_hash(run);
  }
}

TEST_P(Distillation, GoesOnFromACheckpoint) {
  SmallRun run = student();
  run.teacher = trained(teacher_run(), {.temperature = 2, .weight = 0.7});
  expect_to_go_on_from_a_checkpoint(run);
}

// Neither freeze, nor rates of layers, nor adapters see the teacher's weights.
TEST_P(Distillation, FreezeRatesAndAdaptersAreTheStudents) {
  SmallRun run = student();
  run.teacher = trained(teacher_run(), {});
  auto refusal = [&] {
    return message_of(Category::config, [&] { TowerTrainer(run.options(), run.place()); });
  };
  run.freeze.patterns = {"teacher.*"};
  EXPECT_THAT(refusal(), HasSubstr("freeze"));
  run.freeze.patterns = {};
  run.optimizer.lr_factors = {{"teacher.*", 0.5}};
  EXPECT_THAT(refusal(), HasSubstr("lr_factors"));
  run.optimizer.lr_factors = {};
  run.adapt.lora = {.rank = 2};
  TowerTrainer trainer(run.options(), run.place());
  for (const ParameterEntry& entry : trainer.layout().entries())
    EXPECT_FALSE(entry.teacher && entry.name.find("lora") != entry.name.npos) << entry.name;
}

SPIRE_TEST_ON_EACH_KIND(Distillation);

TEST(DistillationModels, NeedLogitsOfTheSameClasses) {
  SmallRun run;
  TrainingState state = state_after(run, 0);
  run.teacher = teacher_of(run.model, state, {});
  auto refusal = [&] {
    return message_of(Category::config, [&] { run.options().build(4, true); });
  };
  run.loss.name = LossConfig::Name::mse;
  EXPECT_THAT(refusal(), HasSubstr("needs loss.name: cross_entropy or focal, got mse"));
  run.loss.name = LossConfig::Name::automatic;
  run.model = {.name = "autoencoder", .channels = {4}};
  EXPECT_THAT(refusal(), HasSubstr("to classify samples or to predict tokens"));
}

TEST(DistillationModels, TakeFocalLossesAndClassWeights) {
  SmallRun run;
  run.teacher = teacher_of(run.model, state_after(run, 0), {});
  run.loss.class_weights = {1, 2, 3, 4};
  run.loss.label_smoothing = 0.1;
  EXPECT_EQ(run.options().build(4, true).losses().size(), 2u);
  run.loss.name = LossConfig::Name::focal;
  EXPECT_EQ(run.options().build(4, true).losses().size(), 2u);
  EXPECT_EQ(run.options().build(4, false).losses().size(), 1u);
}

TEST(Graft, RefusesInputsThatAreNotThere) {
  Graph teacher(false), student(true);
  Value x = teacher.input("images", {{2, 3}, DType::f32});
  teacher.mark_output("output", x);
  student.input("images", {{2, 4}, DType::f32});
  EXPECT_THAT(
      message_of(Category::config, [&] { graft_teacher(student, std::move(teacher), "output"); }),
      HasSubstr("reads 'images', fp32 (2, 3)"));
}

}  // namespace
}  // namespace spire
