// One model trained on several hosts: the bits of one process; and a cable pulled in the middle of
// it, which ends all ranks in time, with a report on both sides.
#include <fstream>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hosts/network.h"
#include "tests/long_tests.h"
#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;

const std::string test_env = "/usr/bin/env";
constexpr int max_steps = 8000;   // seconds between hosts: time to pull the cable
constexpr double size_limit = 2;  // timeouts.step
// After it: a beat that comes late on a busy machine, the grace period of the watch.
constexpr double test_bound = size_limit + 8;

class Hosts : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!network_.missing().empty()) GTEST_SKIP() << network_.missing();
    if (GetParam() > 2 && !long_tests()) GTEST_SKIP() << skipped_in_short_form;
  }

  Words words(const std::string& name, const Words& more) const {
    Words course = {"batch_size=2",
                    "towers=8",
                    "timeouts.step=2",
                    "schedule.name=constant",
                    "eval.every_epochs=0",
                    "checkpoint.every_epochs=0",
                    "checkpoint.every_steps=500",
                    "log.every_steps=1000",
                    "timeouts.start=30"};
    return folder_.run(name, test_mlp + course + more);
  }

  std::string one_process(int steps) const {
    return printed_hash(expect_success(trainer(words("one", {"steps=" + std::to_string(steps)}))));
  }

  // Each host has `ranks` ranks.
  std::unique_ptr<Program> mpirun(int hosts, int ranks, const Words& words) const {
    return std::make_unique<Program>(
        test_env, network_.mpirun(hosts, ranks, folder_ / "") + Words{TRAINER_PROGRAM} + words);
  }

  std::string said_on_its_host(int rank) const {
    std::ifstream file(folder_ / ("stderr." + std::to_string(rank)));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  Network network_{GetParam()};
  RunFolder folder_;
};

// "error[8]: rank 1 (host host-2, pid 7) has been silent for 2.1 s: ...; last seen at step 37: ..."
// On a busy machine the system may be the first to give up: "cannot be reached any more (No route
// to host); ...".
auto names_silent(int rank) {
  return ContainsRegex("error\\[8\\]: rank " + std::to_string(rank) + " \\(host host-" +
                       std::to_string(rank + 1) +
                       ", pid [0-9]+\\) (has sent no sign of life for|cannot be reached any more "
                       ").*; last seen at step [0-9]+: cpu:0");
}

class MpiHosts : public Hosts {
 protected:
  void SetUp() override {
    Hosts::SetUp();
    if (!fs::exists(MPIRUN_PROGRAM)) GTEST_SKIP() << "no mpirun";
  }
};

TEST_P(MpiHosts, TrainOneModel) {
  std::string hash = one_process(200);
  for (int ranks : {1, 2}) {
    for (const char* devices : {"devices=1xcpu", "devices=2xcpu"}) {
      for (const char* strategy : {"strategy=parameter_device", "strategy=sharded"}) {
        if (GetParam() * ranks * 2 > 8) continue;  // more devices than towers
        Output output = mpirun(GetParam(), ranks,
                               words("some", {"steps=200", "--overwrite", devices, strategy}))
                            ->finish();
        ASSERT_EQ(output.code, 0) << output.err;
        EXPECT_EQ(printed_hash(output), hash) << devices << ' ' << strategy;
        for (int host = 1; host <= GetParam(); ++host)
          EXPECT_THAT(output.err, HasSubstr("  host-" + std::to_string(host) + "\n"));
      }
    }
  }
}

TEST_P(MpiHosts, EndWhenTheCableIsPulledAndGoOn) {
  int last = GetParam();
  std::string hash = one_process(max_steps);
  Words all = words("cut", {"steps=" + std::to_string(max_steps), "--resume", "auto"});
  auto program = mpirun(last, 1, all);
  ASSERT_TRUE(program->wait_for("checkpoint step 2500 ")) << program->finish().err;
  network_.cut(last);
  for (int host = 1; host <= last; ++host)
    EXPECT_TRUE(network_.wait_until_gone(host, "trainer", test_bound)) << "host-" << host;
  // mpirun and its daemons, too, while the cable is still out.
  for (int host = 1; host <= last; ++host)
    EXPECT_TRUE(network_.wait_until_empty(host, 30)) << "host-" << host;

  Output output = program->finish();
  EXPECT_EQ(output.code, 8) << output.err;
  EXPECT_THAT(said_on_its_host(0), names_silent(last - 1));
  EXPECT_THAT(said_on_its_host(last - 1), names_silent(0));

  network_.mend(last);
  Output resumed = mpirun(last, 1, all)->finish();
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(printed_hash(resumed), hash);
}

class TcpHosts : public Hosts {
 protected:
  using Programs = std::vector<std::unique_ptr<Program>>;

  // One rank a host, by rank.
  Programs torchrun(int hosts, const Words& words) const {
    Programs programs;
    for (int rank = 0; rank < hosts; ++rank) {
      Words variables = {"env", "RANK=" + std::to_string(rank),
                         "WORLD_SIZE=" + std::to_string(hosts), "MASTER_ADDR=10.9.0.1",
                         "SPIRE_SECRET=the hosts of this test"};
      programs.push_back(std::make_unique<Program>(
          test_env, network_.on(rank + 1, variables + Words{TRAINER_PROGRAM} + words)));
    }
    return programs;
  }

  std::vector<Output> finish(Programs programs, int code) const {
    std::vector<Output> outputs;
    for (auto& program : programs) outputs.push_back(program->finish());
    for (const Output& output : outputs) EXPECT_EQ(output.code, code) << output.err;
    return outputs;
  }
};

TEST_P(TcpHosts, TrainOneModel) {
  std::string hash = one_process(200);
  for (const char* devices : {"devices=1xcpu", "devices=2xcpu"}) {
    auto outputs =
        finish(torchrun(GetParam(), words("some", {"steps=200", "--overwrite", devices})), 0);
    EXPECT_EQ(printed_hash(outputs[0]), hash) << devices;
  }
}

TEST_P(TcpHosts, EndWhenTheCableIsPulledAndGoOn) {
  int last = GetParam();
  std::string hash = one_process(max_steps);
  Words all = words("cut", {"steps=" + std::to_string(max_steps), "--resume", "auto"});
  auto programs = torchrun(last, all);
  ASSERT_TRUE(programs[0]->wait_for("checkpoint step 2500 "));
  network_.cut(last);
  for (int host = 1; host <= last; ++host)
    EXPECT_TRUE(network_.wait_until_empty(host, test_bound)) << "host-" << host;
  auto outputs = finish(std::move(programs), 8);
  EXPECT_THAT(outputs.front().err, names_silent(last - 1));
  EXPECT_THAT(outputs.back().err, names_silent(0));

  network_.mend(last);
  EXPECT_EQ(printed_hash(finish(torchrun(last, all), 0)[0]), hash);
}

auto hosts_name = [](const auto& test) { return std::to_string(test.param); };
INSTANTIATE_TEST_SUITE_P(Network, MpiHosts, testing::Values(2, 3), hosts_name);
INSTANTIATE_TEST_SUITE_P(Network, TcpHosts, testing::Values(2, 3), hosts_name);

}  // namespace
}  // namespace spire
