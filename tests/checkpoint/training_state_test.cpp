#include "engine/checkpoint/training_state.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spire {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> paths_of(const TrainingState& state, bool averaged) {
  std::vector<TensorGroup> groups = state.groups();
  std::vector<std::string> paths;
  for (TensorPlace place : model_tensors(state, averaged))
    paths.push_back(groups[place.group].path + "/" +
                    groups[place.group].tensors[place.tensor].name);
  return paths;
}

TEST(ModelTensors, AnAverageReplacesAWeightAndFrozenWeightsHaveNone) {
  TrainingState state;
  state.weights = {{"frozen", {1}, {1}}, {"trained", {1}, {2}}};
  state.states = {{"mean", {1}, {3}}};
  state.optimizer = {{"ema", {{"trained", {1}, {4}}}}};
  EXPECT_THAT(paths_of(state, true),
              ElementsAre("/weights/frozen", "/optimizer/ema/trained", "/states/mean"));
  EXPECT_THAT(paths_of(state, false),
              ElementsAre("/weights/frozen", "/weights/trained", "/states/mean"));
}

TEST(ModelTensors, WithoutAveragesWeightsAreTheirOwn) {
  TrainingState state;
  state.weights = {{"trained", {1}, {2}}};
  state.optimizer = {{"m", {{"trained", {1}, {4}}}}};
  EXPECT_THAT(paths_of(state, true), ElementsAre("/weights/trained"));
}

}  // namespace
}  // namespace spire
