// SIGKILL at random moments: while a run starts, steps, evaluates, writes a checkpoint or ends.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include <spire/random_stream.h>

#include "tests/long_tests.h"
#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// The cnn spends its life in steps, the wide mlp in its checkpoints of 2 MB: one a step.
struct KillCase {
  std::string name;
  Words words;
  friend std::ostream& operator<<(std::ostream& out, const KillCase& c) { return out << c.name; }
};

class RandomKills : public testing::TestWithParam<KillCase> {
 protected:
  Words words(const std::string& name, const std::string& devices) const {
    return folder_.run(
        name, GetParam().words + Words{"steps=25", "devices=" + devices, "--resume", "auto"});
  }

  // Its life is the shortest of three: a machine that was busy for once would let most runs end.
  Output straight_run() {
    Output output;
    for (int i = 0; i < 3; ++i) {
      std::filesystem::remove_all(folder_ / "straight");
      auto begin = Clock::now();
      output = trainer(words("straight", "1xcpu"));
      EXPECT_EQ(output.code, 0) << output.err;
      Seconds life = Clock::now() - begin;
      life_ = i == 0 ? life : std::min(life_, life);
    }
    return output;
  }

  // Starts or resumes the run, and kills it after a part of a straight run's life. Some end before.
  void kill_once() {
    double part = random_.uniform(draws_++);
    Program program(words("run", next_devices()));
    std::this_thread::sleep_for(part * life_);
    program.signal(SIGKILL);
    int code = program.finish().code;
    ASSERT_TRUE(code == 128 + SIGKILL || code == 0) << code;
    killed_ += code != 0;
    expect_whole_lines();
  }

  // What a reader of the live file would see: whole lines, one write each.
  void expect_whole_lines() {
    if (!std::filesystem::exists(folder_ / "run/metrics.jsonl")) return;
    std::string text = content_of(folder_ / "run/metrics.jsonl");
    EXPECT_TRUE(text.empty() || text.back() == '\n');
    expect_ascending(folder_.metrics("run"));
  }

  void expect_straight_end(const std::string& hash) {
    Output output = trainer(words("run", next_devices()));
    ASSERT_EQ(output.code, 0) << output.err;
    EXPECT_EQ(printed_hash(output), hash) << output.err;
    EXPECT_EQ(folder_.summary("run")["parameter_hash"], hash);
    EXPECT_EQ(folder_.summary("run")["val"], folder_.summary("straight")["val"]);
    EXPECT_EQ(curve(folder_.metrics("run")), curve(folder_.metrics("straight")));
    expect_ascending(folder_.metrics("run"));
  }

  std::string next_devices() { return ++runs_ % 2 == 0 ? "1xcpu" : "2xcpu"; }

  RunFolder folder_;
  RandomStream random_{2024, Purpose::initialize};
  uint64_t draws_ = 0;
  int killed_ = 0, runs_ = 0;
  Seconds life_{0};
};

TEST_P(RandomKills, LeaveARunThatResumes) {
  const int kills = long_tests() ? 25 : 3;
  Output straight = straight_run();
  int rounds = 0;
  while (killed_ < kills && !HasFailure()) {
    ASSERT_LT(++rounds, 6 * kills) << "only " << killed_ << " runs lived to be killed";
    std::filesystem::remove_all(folder_ / "run");
    kill_once();
    kill_once();  // the resumed run is killed too
    expect_straight_end(printed_hash(straight));
  }
}

INSTANTIATE_TEST_SUITE_P(
    TowerTrainer, RandomKills,
    testing::Values(KillCase{"Cnn", test_cnn + Words{"checkpoint.every_steps=2"}},
                    KillCase{"WideMlp",
                             {"model.name=mlp", "model.hidden=[2048]", "optimizer.lr=0.02",
                              "checkpoint.every_steps=1"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
