// Tests that weight decay and factors of the learning rate reach exactly the weights that the
// config names, to the bit.
#include <gmock/gmock.h>

#include "engine/update/update_pieces.h"
#include "tests/base/message_of.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

TEST(WeightSpans, AMatrixHasTwoAxesOfSeveralEntries) {
  for (const Shape& matrix : {Shape{10, 7}, Shape{8, 3, 3, 4}, Shape{8, 1, 1, 4}, Shape{1, 5, 6}})
    EXPECT_TRUE(is_matrix(matrix)) << to_string(matrix);
  for (const Shape& vector : {Shape{}, Shape{7}, Shape{1, 7}, Shape{1, 1, 9}, Shape{1, 1}})
    EXPECT_FALSE(is_matrix(vector)) << to_string(vector);
}

SmallRun resnet_run(const OptimizerConfig& optimizer) {
  SmallRun run;
  run.model = {.name = "resnet", .depth = 8};
  run.optimizer = optimizer;
  return run;
}

// Spans partition the trained weights, and change where the kind of a parameter does.
TEST(WeightSpans, PartitionTheWeights) {
  SmallRun run = resnet_run({});
  TowerTrainer trainer(run.options(), run.place());
  const ParameterLayout& layout = trainer.layout();
  auto all = weight_spans({.decay = OptimizerConfig::Decay::all}, layout);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].range, (FloatRange{0, layout.trained_floats()}));
  auto spans = weight_spans({.decay = OptimizerConfig::Decay::matrices}, layout);
  int64_t at = 0;
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i].range.begin, at);
    at = spans[i].range.end;
    EXPECT_TRUE(i == 0 || spans[i].decay != spans[i - 1].decay);
  }
  EXPECT_EQ(at, layout.trained_floats());
  for (const ParameterEntry& entry : layout.entries()) {
    if (!entry.trained()) continue;
    for (const WeightSpan& span : spans) {
      if (span.range.begin <= entry.offset && entry.offset < span.range.end) {
        EXPECT_GE(span.range.end, entry.offset + entry.elements()) << entry.name;
        EXPECT_EQ(span.decay, entry.shape.rank() > 1 ? 1.0f : 0.0f) << entry.name;
      }
    }
  }
}

// The first pattern that matches a parameter counts.
TEST(WeightSpans, HaveTheFactorsOfTheirParameters) {
  SmallRun run = resnet_run({.lr_factors = {{"stem.*", 0.5}, {"*.norm.*", 2}, {"head.*", 4}}});
  TowerTrainer trainer(run.options(), run.place());
  const ParameterLayout& layout = trainer.layout();
  auto expected = [](const std::string& name) {
    if (name.starts_with("stem.")) return 0.5f;
    if (name.find(".norm.") != name.npos) return 2.0f;
    return name.starts_with("head.") ? 4.0f : 1.0f;
  };
  for (auto name : {OptimizerConfig::Name::sgd, OptimizerConfig::Name::lars}) {
    int64_t at = 0;
    run.optimizer.name = name;
    for (const WeightSpan& span : weight_spans(run.optimizer, layout)) {
      EXPECT_EQ(span.range.begin, at);
      at = span.range.end;
      for (const ParameterEntry& entry : layout.entries()) {
        if (entry.offset < span.range.begin || entry.offset >= span.range.end) continue;
        EXPECT_EQ(span.lr, expected(entry.name)) << entry.name;
      }
    }
    EXPECT_EQ(at, layout.trained_floats());
  }
}

TEST(WeightSpans, RefusePatternsThatMatchNothingTrained) {
  SmallRun run = resnet_run({});
  run.freeze.patterns = {"stem.*"};
  TowerTrainer trainer(run.options(), run.place());
  auto refusal = [&](const std::string& pattern) {
    return message_of(Category::config, [&] {
      weight_spans({.lr_factors = {{pattern, 0.5}}}, trainer.layout());
    });
  };
  EXPECT_THAT(refusal("haed.weight"), testing::HasSubstr("did you mean 'head.weight'?"));
  EXPECT_EQ(refusal("stem.*"),
            "optimizer.lr_factors: 'stem.*' matches frozen parameters only; remove it, or do not "
            "freeze them");
}

// The trainer refuses it, too, before it compiles a plan.
TEST(WeightSpans, RefusePatternsBehindOthersThatMatchTheSame) {
  SmallRun run = resnet_run({.lr_factors = {{"*", 0.1}, {"head.*", 1}}});
  EXPECT_EQ(message_of(Category::config, [&] { TowerTrainer trainer(run.options(), run.place()); }),
            "optimizer.lr_factors: 'head.*' never counts: '*' is before it and matches the same "
            "parameters; put it first");
}

// Factors that are powers of two give the bits of a run with another learning rate.
TEST(WeightSpans, AFactorForAllIsAnotherLearningRate) {
  for (const char* name : {"sgd", "adam", "adamw", "lars", "lamb"}) {
    SmallRun run = resnet_run(
        {.name = *find_word<OptimizerConfig::Name>(name), .lr = 0.02, .weight_decay = 0.1});
    run.optimizer.lr_factors = {{"*", 0.25}};
    uint64_t with_factor = hash_after(run, 2);
    run.optimizer.lr_factors.clear();
    run.optimizer.lr *= 0.25;
    EXPECT_EQ(with_factor, hash_after(run, 2)) << name;
  }
}

class Decay : public testing::TestWithParam<const char*> {};

// After one step matrices are those of a run where all weights decay, all others those of a run
// where none does.
TEST_P(Decay, LeavesOtherWeightsThanMatricesAlone) {
  SmallRun run = resnet_run(
      {.name = *find_word<OptimizerConfig::Name>(GetParam()), .lr = 0.1, .weight_decay = 0.5});
  auto decayed = weights_after(run, 1);
  run.optimizer.decay = OptimizerConfig::Decay::matrices;
  auto some = weights_after(run, 1);
  run.optimizer.weight_decay = 0;
  auto none = weights_after(run, 1);
  TowerTrainer trainer(run.options(), run.place());
  for (const ParameterEntry& entry : trainer.layout().entries()) {
    const auto& expected = is_matrix(entry.shape) ? decayed : none;
    bool told_apart = false;
    for (int64_t i = entry.offset; i < entry.offset + entry.elements(); ++i) {
      auto at = static_cast<size_t>(i);
      ASSERT_EQ(some[at], expected[at]) << entry.name;
      told_apart |= decayed[at] != none[at];
    }
    bool zeros = entry.name.ends_with("bias") || entry.name.ends_with("beta");  // at the start
    EXPECT_TRUE(told_apart || zeros || !entry.trained()) << entry.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Decay, testing::Values("sgd", "adamw"));

// Plans count pieces without making them.
TEST(UpdatePieces, AreCountedAsTheyAreCut) {
  SmallRun run = resnet_run({.lr_factors = {{"stem.*", 0.5}, {"*.norm.*", 2}}});
  TowerTrainer trainer(run.options(), run.place());
  const ParameterLayout& layout = trainer.layout();
  int64_t all = layout.gradient_floats(), chunk = TreeSum::chunk;
  for (const std::vector<FloatRange>& owned : {std::vector<FloatRange>{},
                                               {{0, all}},
                                               {{0, chunk}, {3 * chunk, 5 * chunk}},
                                               {{chunk, all}}})
    for (auto name : {OptimizerConfig::Name::sgd, OptimizerConfig::Name::lars}) {
      run.optimizer.name = name;
      std::vector<WeightSpan> spans = weight_spans(run.optimizer, layout);
      TensorNorms norms(spans);
      UpdatePieces cut = cut_into_pieces(owned, spans, layout, &norms);
      PieceCounts counts = count_pieces(owned, spans, layout);
      EXPECT_EQ(counts.weights, cut.weights.size());
      EXPECT_EQ(counts.statistics, cut.statistics.size());
      EXPECT_EQ(counts.state_floats, cut.state_floats());
    }
}

}  // namespace
}  // namespace spire
