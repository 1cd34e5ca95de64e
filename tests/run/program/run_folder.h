// Made-up data, the words of runs on it, and what these runs leave in their directories.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/tools/program.h"
#include "tests/tools/words.h"

namespace spire {

using Json = nlohmann::json;

// Models by the words that choose them. The cnn draws dropout, crops and flips; the resnet has
// running statistics and computes in bf16.
const Words test_mlp = {"model.name=mlp", "model.hidden=[16]", "optimizer.lr=0.05"};
const Words test_cnn = {"model.name=cnn",    "model.channels=[4,8]", "model.hidden=[16]",
                        "model.dropout=0.2", "data.augment.crop=1",  "data.augment.flip=true",
                        "optimizer.lr=0.05"};
const Words test_resnet = {"model.name=resnet", "model.depth=8", "precision=bf16",
                           "optimizer.lr=0.05"};

// A run of 50 steps for several processes.
const Words test_course = {"batch_size=2", "towers=8", "steps=50", "schedule.name=constant"};

// A folder with 300 training and 100 test images of 12 x 12 in 4 classes, removed with the object.
// In memory where the system has a place for that: these runs do little but write checkpoints.
class RunFolder : public Folder {
 public:
  RunFolder();

  // A run into directory `name`: 4 towers of 8 samples, so an epoch has 10 steps and ends in a
  // ragged batch of 12; then `more`, which wins.
  Words run(const std::string& name, const Words& more) const;

  Json summary(const std::string& name) const;
  std::vector<Json> metrics(const std::string& name) const;         // each line; a bad one throws
  std::vector<int64_t> checkpoints(const std::string& name) const;  // steps, ascending
  std::filesystem::path checkpoint(const std::string& name, int64_t step) const;
};

// What a run computed, without times: each step's loss, accuracy, gradient norm and learning rate,
// and each evaluation's loss and accuracy. Equal curves are equal to the last bit.
std::vector<Json> curve(const std::vector<Json>& metrics);

// Fails unless a run of these words, which have its steps, ends with the same hash, the same curve
// and the same last evaluation on other devices, by other strategies, in 2 processes, and when it
// stops after step `stop` and goes on.
void expect_one_hash(const RunFolder& folder, const Words& words, int64_t stop = 4);

// Steps ascend strictly within each kind of line, but those of checkpoints, and within the lines of
// each device.
void expect_ascending(const std::vector<Json>& metrics);

}  // namespace spire
