// Runs that fail at random: any phase, rank, step, kind, strategy, number of devices, launcher.
// Each ends as a whole and names the cause, and goes on, on another number of ranks, to the bits of
// the run that went straight.
#include <gtest/gtest.h>

#include <spire/random_stream.h>

#include "engine/base/fail.h"
#include "tests/long_tests.h"
#include "tests/run/program/faults/faulty_ranks.h"

namespace spire {
namespace {

constexpr int parts = 5;  // CTest cases, to run at a time

const std::vector<std::string> phases = {"start",  "data",   "forward", "backward",
                                         "bucket", "update", "eval",    "checkpoint"};
// Those that hang take seconds.
const std::vector<std::string> kinds = {"throw", "throw", "throw", "throw", "kill",
                                        "kill",  "kill",  "kill",  "stall", "stop"};
const std::vector<std::string> strategies = {"parameter_device", "mirrored", "sharded"};
const std::vector<Words> models = {
    {"model.name=mlp", "model.hidden=[256]", "optimizer.lr=0.05"},
    test_cnn + Words{"model.hidden=[256]", "model.normalization=batch_norm"}};

class RandomFaults : public testing::TestWithParam<int> {
 protected:
  // 12 towers of 2 samples: 13 steps an epoch, the last of them ragged.
  Words words(const std::string& name, size_t model, const Words& more) const {
    return folder_.run(name, models[model] +
                                 Words{"towers=12", "batch_size=2", "steps=20",
                                       "checkpoint.every_steps=4", "--resume", "auto"} +
                                 more);
  }

  int draw(int count) {
    return static_cast<int>(random_.below(draws_++, static_cast<uint64_t>(count)));
  }
  template <typename T>
  const T& pick(const std::vector<T>& all) {
    return all[static_cast<size_t>(draw(static_cast<int>(all.size())))];
  }

  const std::string& straight_hash(size_t model) {
    std::string& hash = hashes_[model];
    if (!hash.empty()) return hash;
    Output output = trainer(words(fmt::format("straight_{}", model), model, {}));
    EXPECT_EQ(output.code, 0) << output.err;
    return hash = printed_hash(output);
  }

  // A step at which the phase is met, on every rank.
  int64_t draw_step(const std::string& phase) {
    if (phase == "start") return 0;
    if (phase == "eval") return pick<int64_t>({13, 20});
    if (phase == "checkpoint") return pick<int64_t>({4, 8, 12, 13, 16, 20});
    return 1 + draw(12);
  }

  Start draw_start(size_t model) {
    Start start;
    start.ranks = 2 + draw(2);
    start.launcher = draw(10) == 0 && has_mpirun() ? Launcher::mpirun : Launcher::variables;
    std::string strategy = pick(strategies);
    Fault& fault = start.fault;
    fault.phase = pick(phases);
    fault.kind = pick(kinds);
    fault.step = draw_step(fault.phase);
    bool by_rank_0 = fault.phase == "update" && strategy == "parameter_device";
    fault.rank = by_rank_0 ? 0 : draw(start.ranks);
    if (fault.phase == "forward" || fault.phase == "backward") fault.after = draw(2);
    bool hangs = fault.kind == "stall" || fault.kind == "stop";
    start.words = words("run", model,
                        Words{"strategy=" + strategy, fmt::format("devices={}xcpu", 1 + draw(2))} +
                            limits(hangs ? step_limit : 100));
    return start;
  }

  static std::string describe(const Start& start) {
    std::string text =
        fmt::format("seed {}: SPIRE_TEST_FAULT=\"{}\", {} ranks{}:", GetParam(), start.fault.text(),
                    start.ranks, start.launcher == Launcher::mpirun ? " of mpirun" : "");
    for (const std::string& word : start.words) text += " " + word;
    return text;
  }

  void expect_straight_end(const Start& failed, size_t model) {
    Start start;
    start.ranks = failed.ranks % 3 + 1;  // 2 -> 3, 3 -> 1
    start.launcher = start.ranks == 1 ? Launcher::none : Launcher::variables;
    start.words = words("run", model, Words{"strategy=" + pick(strategies)} + limits(100));
    auto outputs = Ranks(start).finish();
    for (const Output& output : outputs) ASSERT_EQ(output.code, 0) << output.err;
    EXPECT_EQ(printed_hash(outputs[0]), straight_hash(model)) << outputs[0].err;
  }

  RunFolder folder_;
  RandomStream random_{static_cast<uint64_t>(GetParam()), Purpose::initialize};
  uint64_t draws_ = 0;
  std::vector<std::string> hashes_ = std::vector<std::string>(models.size());
};

TEST_P(RandomFaults, EndTheRunWhichResumes) {
  const int trials = long_tests() ? 20 : 3;
  for (int trial = 0; trial < trials && !HasFailure(); ++trial) {
    std::filesystem::remove_all(folder_ / "run");
    auto model = static_cast<size_t>(draw(static_cast<int>(models.size())));
    Start start = draw_start(model);
    SCOPED_TRACE(describe(start));
    bool stops = start.fault.kind == "stop" && start.launcher == Launcher::variables;
    auto outputs = Ranks(start).finish(stops ? start.fault.rank : -1);
    expect_failed_as_a_whole(start, outputs);
    expect_straight_end(start, model);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomFaults, testing::Range(1, 1 + parts));

}  // namespace
}  // namespace spire
