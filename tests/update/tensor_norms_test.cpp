// Tests the norms of tensors, and the steps of layer-wise optimizers that follow from them.
#include <cmath>

#include <gtest/gtest.h>

#include "engine/update/tree.h"
#include "engine/update/update_pieces.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

constexpr int64_t chunk = TreeSum::chunk;

// A vector at the start of the first chunk, a tensor from there into the fourth, another within the
// fourth.
std::vector<WeightSpan> three_spans() {
  return {{{0, 100}, 1, 1, false},
          {{100, 3 * chunk + 16}, 1, 1, true},
          {{3 * chunk + 16, 3 * chunk + 64}, 1, 1, true}};
}

class TensorNormsTest : public testing::Test {
 protected:
  TensorNormsTest() { norms.allocate(memory); }

  MemoryPool memory{DeviceId{}};
  TensorNorms norms{three_spans()};
};

TEST_F(TensorNormsTest, ATensorHasACellForEachChunkItTouches) {
  EXPECT_EQ(norms.table().size(), 2 * (4 + 1u));
  EXPECT_EQ(norms.cell(1, 100), 0u);
  EXPECT_EQ(norms.cell(1, chunk), 1u);
  EXPECT_EQ(norms.cell(1, 3 * chunk), 3u);
  EXPECT_EQ(norms.cell(2, 3 * chunk + 16), 4u);
}

TEST_F(TensorNormsTest, ATensorsSumIsThatOfItsCells) {
  for (size_t cell = 0; cell < 5; ++cell)
    norms.set(cell, {std::pow(2.0, cell), 3 * std::pow(2.0, cell)});
  EXPECT_EQ(norms.total(1).weights, 15);
  EXPECT_EQ(norms.total(1).update, 45);
  EXPECT_EQ(norms.total(2).weights, 16);
  EXPECT_EQ(norms.total(2).update, 48);
}

TEST_F(TensorNormsTest, ACellBelongsToTheOwnerOfItsChunk) {
  using Ranges = std::vector<FloatRange>;
  EXPECT_EQ(norms.of_chunks({{0, 4}}), (Ranges{{0, 8}, {8, 10}}));
  EXPECT_EQ(norms.of_chunks({{0, 1}, {2, 3}}), (Ranges{{0, 2}, {4, 6}}));
  EXPECT_EQ(norms.of_chunks({{3, 4}}), (Ranges{{6, 8}, {8, 10}}));
}

struct OneStep {
  ParameterLayout layout;
  std::vector<float> before, after;
};

OneStep one_step(const OptimizerConfig& optimizer) {
  SmallRun run;
  run.model.normalization = ModelConfig::Normalization::batch_norm;
  run.optimizer = optimizer;
  TowerTrainer trainer(run.options(), run.place());
  OneStep step{trainer.layout(), weights_of(trainer), {}};
  run_steps(trainer, run, 0, 1);
  step.after = weights_of(trainer);
  return step;
}

double norm_of(const OneStep& step, const ParameterEntry& entry, bool difference) {
  double squares = 0;
  for (int64_t i = entry.offset; i < entry.offset + entry.elements(); ++i) {
    auto at = static_cast<size_t>(i);
    double value = double{step.before[at]} - (difference ? double{step.after[at]} : 0.0);
    squares += value * value;
  }
  return std::sqrt(squares);
}

// A matrix moves by a fixed share of its norm, whatever its gradient is.
TEST(LayerWise, AStepIsAShareOfTheWeights) {
  for (auto [name, lr, share] : {std::tuple{"lars", 2.0, 2.0 * 0.05}, {"lamb", 0.1, 0.1}}) {
    OneStep step = one_step(
        {.name = *find_word<OptimizerConfig::Name>(name), .lr = lr, .trust_coefficient = 0.05});
    int matrices = 0;
    for (const ParameterEntry& entry : step.layout.entries()) {
      if (!is_matrix(entry.shape)) continue;
      ++matrices;
      EXPECT_NEAR(norm_of(step, entry, true) / norm_of(step, entry, false), share, 1e-6 * share)
          << name << " " << entry.name;
    }
    EXPECT_GE(matrices, 4);
  }
}

// Vectors take the plain step: sgd's, and adam's.
TEST(LayerWise, BiasesAndNormsHaveRatioOne) {
  for (auto [layerwise, plain] : {std::pair{"lars", "sgd"}, {"lamb", "adam"}}) {
    OneStep step = one_step({.name = *find_word<OptimizerConfig::Name>(layerwise), .lr = 0.1});
    OneStep expected = one_step({.name = *find_word<OptimizerConfig::Name>(plain), .lr = 0.1});
    for (const ParameterEntry& entry : step.layout.entries()) {
      if (is_matrix(entry.shape)) continue;
      for (int64_t i = entry.offset; i < entry.offset + entry.elements(); ++i) {
        auto at = static_cast<size_t>(i);
        ASSERT_NEAR(step.after[at], expected.after[at], 1e-6) << layerwise << " " << entry.name;
      }
    }
  }
}

}  // namespace
}  // namespace spire
