// Fixture of the checkpoint tests: a scratch folder, a state with every kind of content, and
// bitwise comparison of states.
#pragma once
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/random_stream.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/checkpoint/training_state.h"
#include "tests/base/folder.h"
#include "tests/base/message_of.h"

namespace spire {

class CheckpointTest : public ::testing::Test {
 protected:
  Folder folder;
};

inline NamedTensor random_tensor(const std::string& name, const Shape& shape, uint64_t seed) {
  NamedTensor tensor{name, shape, {}};
  tensor.values.resize(static_cast<size_t>(shape.elements()));
  RandomStream stream(seed, Purpose::initialize);
  for (size_t i = 0; i < tensor.values.size(); ++i) tensor.values[i] = stream.uniform(i) - 0.5f;
  return tensor;
}

// A state with names out of alphabetical order, a scalar, an empty tensor, and values that differ
// in their bits alone.
inline TrainingState sample_state(int64_t step = 1234) {
  TrainingState state;
  state.weights = {random_tensor("fc.weight", {10, 7}, 1),
                   random_tensor("conv1.weight", {4, 3, 3, 2}, 2),
                   random_tensor("conv1.bias", {4}, 3), random_tensor("scale", {}, 4)};
  state.weights[2].values = {-0.0f, std::numeric_limits<float>::quiet_NaN(),
                             std::numeric_limits<float>::denorm_min(),
                             -std::numeric_limits<float>::infinity()};
  state.states = {random_tensor("bn.mean", {5}, 5), random_tensor("empty", {0, 3}, 6)};
  state.optimizer.emplace_back("v", state.weights);
  state.optimizer.emplace_back("m", state.weights);
  state.step = step;
  state.epoch = 3;
  state.step_in_epoch = 17;
  state.samples_seen = int64_t{1} << 40;
  state.optimizer_steps = step - 1;
  state.seed = 0xfedcba9876543210u;
  state.towers = 8;
  state.batch_size = 128;
  state.tower_threads = 2;
  state.best_metric = 0.1 + 0.2;
  state.best_step = 1000;
  state.evaluated_step = 1200;
  state.evaluated_loss = 1.0 / 3.0;
  state.evaluated_metric = 0.7;
  state.evaluated_others = {{Metric::f1_macro, 0.1}, {Metric::auc, 1.0 / 7.0}};
  state.loss_scale = 4096;
  state.loss_scale_steps = 12;
  state.skipped_steps = 3;
  state.skipped_in_row = 1;
  state.early_stop.waited = 3;
  state.early_stop.reference = 0.1 + 0.7;
  state.config_yaml = "model: {name: cnn}\n# Größe\n";
  state.data_spec = "{\"classes\": 10}";
  state.tuning = "spire tuning 1\nNVIDIA H100\tengine 67 2=1\n";
  state.versions = {{"spire", "0.1.0"}, {"onednn", "2.6.3"}, {"none", ""}};
  state.parameter_hash = "0123456789abcdef";
  return state;
}

inline void expect_same_bits(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].shape, b[i].shape) << a[i].name;
    ASSERT_EQ(a[i].values.size(), b[i].values.size()) << a[i].name;
    size_t bytes = a[i].values.size() * sizeof(float);
    EXPECT_TRUE(bytes == 0 || std::memcmp(a[i].values.data(), b[i].values.data(), bytes) == 0)
        << a[i].name;
  }
}

inline void expect_same_bits(const TrainingState& a, const TrainingState& b) {
  expect_same_bits(a.weights, b.weights);
  expect_same_bits(a.states, b.states);
  ASSERT_EQ(a.optimizer.size(), b.optimizer.size());
  for (size_t i = 0; i < a.optimizer.size(); ++i) {
    EXPECT_EQ(a.optimizer[i].first, b.optimizer[i].first);
    expect_same_bits(a.optimizer[i].second, b.optimizer[i].second);
  }
  auto scalars = [](const TrainingState& s) {
    return std::tuple(s.step, s.epoch, s.step_in_epoch, s.samples_seen, s.optimizer_steps, s.seed,
                      s.towers, s.batch_size, s.tower_threads, s.best_metric, s.best_step,
                      s.evaluated_step, s.evaluated_loss, s.evaluated_metric, s.loss_scale,
                      s.loss_scale_steps, s.skipped_steps, s.skipped_in_row, s.early_stop.waited,
                      s.early_stop.reference, s.config_yaml, s.data_spec, s.tuning, s.versions,
                      s.parameter_hash);
  };
  EXPECT_EQ(scalars(a), scalars(b));
  EXPECT_EQ(a.evaluated_others, b.evaluated_others);
}

// Writes a state from memory, in small pieces.
inline std::filesystem::path save(const CheckpointStore& store, const TrainingState& state) {
  std::vector<float> piece(7);
  return store.save(state, state, piece);
}

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

template <typename Call>
std::string checkpoint_error(const Call& call) {
  return message_of(Category::checkpoint, call);
}

}  // namespace spire
