// Data and configs that tests of the programming interface share: small, and of closed form.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/spire.h>

#include "tests/base/folder.h"
#include "tests/base/message_of.h"
#include "tests/run/recorder.h"

namespace spire {

// (N, 3) features and (N, 1) values, which are 2 x0 - x1 + x2 / 2 + 1.
struct PointData {
  explicit PointData(int64_t samples) : count(samples) {
    RandomStream random(3, Purpose::synthetic);
    for (int64_t i = 0; i < count; ++i) {
      float x[3];
      for (uint64_t f = 0; f < 3; ++f)
        features.push_back(x[f] = 2 * random.uniform(static_cast<uint64_t>(i) * 3 + f) - 1);
      values.push_back(2 * x[0] - x[1] + x[2] / 2 + 1);
    }
  }

  std::vector<Array> arrays() const {
    return {array("features", features.data(), {count, 3}),
            array("values", values.data(), {count, 1})};
  }
  DataSource source() const { return array_source(arrays()); }
  SampleSpec spec() const {
    SampleSpec spec;
    spec.columns = {{"features", {3}, DType::f32}, {"values", {1}, DType::f32}};
    return spec;
  }
  Samples rows(int64_t first, int64_t rows) const {
    return {{features.data() + 3 * first, values.data() + first}, rows};
  }

  int64_t count;
  std::vector<float> features, values;
};

// Two towers of four samples, SGD without momentum.
inline RunConfig point_config(std::vector<std::string> devices = {"cpu:0"}) {
  RunConfig config;
  config.model.name = "linear";
  config.devices = std::move(devices);
  config.towers = 2;
  config.tower_threads = 1;
  config.batch_size = 4;
  config.optimizer.lr = 0.1;
  config.optimizer.momentum = 0;
  config.optimizer.nesterov = false;
  config.optimizer.weight_decay = 0;
  config.schedule = {};
  config.schedule.name = ScheduleConfig::Name::constant;
  config.schedule.warmup_epochs = 0;
  config.epochs = 2;
  config.data.workers = 1;
  return config;
}

// The warnings of a run that begin with `words`.
inline std::vector<std::string> warnings_of(RunConfig config, const DataSource& data,
                                            const std::string& words) {
  Recorder heard;
  Folder folder;
  config.output = folder / "run";
  train(config, {.data = data}, heard);
  std::erase_if(heard.warnings, [&](const std::string& text) { return !text.starts_with(words); });
  return heard.warnings;
}

// Expects an Error of this category whose message has `words`.
template <typename Call>
void expect_error(Category category, const std::string& words, const Call& call) {
  EXPECT_THAT(message_of(category, call), ::testing::HasSubstr(words));
}

}  // namespace spire
