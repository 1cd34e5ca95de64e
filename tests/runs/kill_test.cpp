// SIGKILL at random moments: while a run starts, steps, evaluates, writes a checkpoint or ends.
#include <gtest/gtest.h>
#include <spire/base/philox.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "tests/runs/run_folder.h"

namespace spire {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

class RandomKills : public testing::Test {
 protected:
  Words words(const std::string& name, const std::string& devices) const {
    return folder_.run(name, kCnn + Words{"steps=25", "checkpoint.every_steps=2",
                                          "devices=" + devices, "--resume", "auto"});
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
    std::ifstream file(folder_ / "run/metrics.jsonl");
    std::string text{std::istreambuf_iterator<char>(file), {}};
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

  std::string next_devices() { return ++runs_ % 2 == 0 ? "cpu:1" : "cpu:2"; }

  RunFolder folder_;
  RandomStream random_{2024, Purpose::initialize};
  uint64_t draws_ = 0;
  int killed_ = 0, runs_ = 0;
  Seconds life_{0};
};

TEST_F(RandomKills, LeaveARunThatResumes) {
  auto begin = Clock::now();
  Output straight = trainer(words("straight", "cpu:1"));
  life_ = Clock::now() - begin;
  ASSERT_EQ(straight.code, 0) << straight.err;
  int rounds = 0;
  while (killed_ < KILL_MOMENTS && !HasFailure()) {
    ASSERT_LT(++rounds, 4 * KILL_MOMENTS) << "only " << killed_ << " runs lived to be killed";
    std::filesystem::remove_all(folder_ / "run");
    kill_once();
    kill_once();  // the resumed run is killed too
    expect_straight_end(printed_hash(straight));
  }
}

}  // namespace
}  // namespace spire
