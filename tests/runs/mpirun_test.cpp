// Several real processes, started by mpirun or with torchrun's variables: the bits of one process,
// files written by rank 0 alone, and contradictions answered at once.
#include <algorithm>
#include <chrono>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/process/socket.h"
#include "tests/runs/run_folder.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string test_env = "/usr/bin/env";
const std::string test_mpirun = MPIRUN_PROGRAM;
// Ends what hangs: code 124. A test's own run takes a second.
const Words bounded = {"timeout", "--kill-after=5", "60"};

const Words checked_course = test_course + Words{"check.replicas_every=7"};
const Words batch_norm_cnn = test_cnn + Words{"precision=bf16", "model.normalization=batch_norm"};

struct Model {
  std::string name;
  Words words;
  friend std::ostream& operator<<(std::ostream& out, const Model& m) { return out << m.name; }
};
const std::vector<Model> models = {{"mlp_fp32", test_mlp}, {"batch_norm_cnn_bf16", batch_norm_cnn}};
const std::vector<std::string> strategies = {"parameter_device", "mirrored", "sharded"};

std::string devices_word(int count) {
  return "devices=" + std::to_string(count) + "xcpu";
}

// mpirun's, with more ranks than cores and as root in a container. What Open MPI never frees is in
// components that it has unloaded: no name to suppress it by.
Words mpirun(int ranks, const Words& variables = {}) {
  Words words = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                 "OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_hwloc_base_binding_policy=none",
                 "ASAN_OPTIONS=detect_leaks=0"};
  return words + variables + bounded +
         Words{test_mpirun, "-np", std::to_string(ranks), TRAINER_PROGRAM};
}

Output run_command(const Words& command) {
  return Program(test_env, command).finish();
}

// What torchrun sets for each of its processes; `more` wins.
Words torchrun(int rank, int ranks, const std::string& port, const Words& more = {}) {
  auto text = [](int value) { return std::to_string(value); };
  return Words{"RANK=" + text(rank),       "WORLD_SIZE=" + text(ranks),
               "LOCAL_RANK=" + text(rank), "LOCAL_WORLD_SIZE=" + text(ranks),
               "MASTER_ADDR=127.0.0.1",    "MASTER_PORT=" + port} +
         more + bounded + Words{TRAINER_PROGRAM};
}

// All ranks with torchrun's variables; by rank.
std::vector<Output> run_torchrun(int ranks, const Words& words) {
  ReservedPort held;
  std::string port = std::to_string(held.number());
  std::vector<std::unique_ptr<Program>> programs;
  for (int rank = 0; rank < ranks; ++rank)
    programs.push_back(std::make_unique<Program>(test_env, torchrun(rank, ranks, port) + words));
  std::vector<Output> outputs;
  for (auto& program : programs) outputs.push_back(program->finish());
  return outputs;
}

// Paths below the run's directory.
std::vector<std::string> files(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    names.push_back(fs::relative(entry.path(), directory));
  std::sort(names.begin(), names.end());
  return names;
}

class Processes : public testing::TestWithParam<Model> {
 protected:
  Words words(const std::string& name, const Words& more = {}) const {
    return folder_.run(name, checked_course + GetParam().words + more);
  }

  std::string one_process(const std::string& name = "one") const {
    Output output = trainer(words(name));
    EXPECT_EQ(output.code, 0) << output.err;
    return printed_hash(output);
  }

  RunFolder folder_;
};

class Mpirun : public Processes {
 protected:
  void SetUp() override {
    if (test_mpirun.empty() || !fs::exists(test_mpirun)) GTEST_SKIP() << "no mpirun";
  }
};

TEST_P(Mpirun, OneHashForAllProcessesDevicesAndStrategies) {
  std::string expected = one_process();
  ASSERT_EQ(expected.size(), 16u);
  for (int ranks : {1, 2, 4}) {
    for (int devices : {1, 2}) {
      for (const std::string& strategy : strategies) {
        Output output =
            run_command(mpirun(ranks) + words("some", {devices_word(devices),
                                                       "strategy=" + strategy, "--overwrite"}));
        ASSERT_EQ(output.code, 0) << output.err;
        EXPECT_EQ(printed_hash(output), expected)
            << ranks << " processes x " << devices << " devices, " << strategy;
      }
    }
  }
}

TEST_P(Mpirun, RankZeroAloneWritesAndSpeaks) {
  one_process();
  Output output = run_command(mpirun(4) + words("four"));
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(files(folder_ / "four"), files(folder_ / "one"));
  EXPECT_EQ(curve(folder_.metrics("four")), curve(folder_.metrics("one")));
  EXPECT_EQ(folder_.summary("four")["val"], folder_.summary("one")["val"]);
  EXPECT_EQ(count(output.out, "parameter hash"), 1) << output.out;
  EXPECT_EQ(count(output.err, "\nglobal batch"), 1) << output.err;
  EXPECT_EQ(count(output.err, "\nprocesses "), 1) << output.err;
  EXPECT_THAT(output.err, HasSubstr("processes     4 over MPI"));
  EXPECT_EQ(count(output.err, "step 50/50"), 1) << output.err;
}

TEST_P(Processes, OneHashWithTorchrunsVariables) {
  std::string expected = one_process();
  for (auto [ranks, devices] : {std::pair{2, 2}, {4, 1}}) {
    for (const std::string& strategy : strategies) {
      auto outputs = run_torchrun(
          ranks, words("some", {devices_word(devices), "strategy=" + strategy, "--overwrite"}));
      for (const Output& output : outputs) ASSERT_EQ(output.code, 0) << output.err;
      EXPECT_EQ(printed_hash(outputs[0]), expected) << ranks << " processes, " << strategy;
      for (int rank = 1; rank < ranks; ++rank)
        EXPECT_EQ(outputs[rank].out + outputs[rank].err, "") << "rank " << rank;
    }
  }
  EXPECT_EQ(files(folder_ / "some"), files(folder_ / "one"));
  EXPECT_EQ(curve(folder_.metrics("some")), curve(folder_.metrics("one")));
}

// Where one leg of a run is hosted.
struct Place {
  int ranks, devices;
  std::string strategy;
  friend std::ostream& operator<<(std::ostream& out, const Place& p) {
    return out << p.ranks << " processes x " << p.devices << " devices, " << p.strategy;
  }
};

class Moves : public Processes {
 protected:
  Output run(const Place& place, const Words& words) const {
    Words all = words + Words{devices_word(place.devices), "strategy=" + place.strategy};
    if (place.ranks == 1) return trainer(all);
    return run_torchrun(place.ranks, all)[0];
  }

  // 23 steps, an epoch and a bit; a copy for each place where it goes on.
  void first_leg(const Place& place) {
    Output output = run(place, words("leg", {"steps=23", "--overwrite"}));
    ASSERT_EQ(output.code, 0) << output.err;
  }

  void expect_straight_end(const Place& place, const std::string& hash) {
    fs::remove_all(folder_ / "rest");
    fs::copy(folder_ / "leg", folder_ / "rest", fs::copy_options::recursive);
    Output output = run(place, words("rest", {"--resume", "auto"}));
    ASSERT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.err, HasSubstr("at step 23 from "));
    EXPECT_EQ(printed_hash(output), hash) << place;
    EXPECT_EQ(train_lines("rest"), train_lines("one")) << place;
  }

  // Without the evaluation at step 23, at which the straight run has none.
  std::vector<Json> train_lines(const std::string& name) const {
    auto lines = curve(folder_.metrics(name));
    std::erase_if(lines, [](const Json& line) { return !line.contains("train/loss"); });
    EXPECT_EQ(lines.size(), 50u) << name;
    return lines;
  }
};

TEST_P(Moves, ACheckpointGoesOnAnywhere) {
  std::string hash = one_process();
  const std::vector<Place> places = {{1, 1, "parameter_device"}, {1, 2, "sharded"},
                                     {1, 4, "mirrored"},         {1, 8, "parameter_device"},
                                     {2, 2, "sharded"},          {2, 2, "mirrored"}};
  for (const Place& from : {Place{1, 4, "parameter_device"}, {2, 2, "sharded"}}) {
    first_leg(from);
    for (const Place& to : places) expect_straight_end(to, hash);
  }
}

TEST_P(Mpirun, ACheckpointGoesOnUnderItAndBack) {
  std::string hash = one_process();
  for (bool there : {true, false}) {
    Words leg = words("moved", {"steps=23", "--overwrite", devices_word(there ? 4 : 2)});
    Words rest = words("moved", {"--resume", "auto", devices_word(there ? 2 : 4)});
    Output first = there ? trainer(leg) : run_command(mpirun(2) + leg);
    ASSERT_EQ(first.code, 0) << first.err;
    Output second = there ? run_command(mpirun(2) + rest) : trainer(rest);
    ASSERT_EQ(second.code, 0) << second.err;
    EXPECT_EQ(printed_hash(second), hash);
  }
}

auto model_name = [](const auto& test) { return test.param.name; };
INSTANTIATE_TEST_SUITE_P(TowerTrainer, Processes, testing::ValuesIn(models), model_name);
INSTANTIATE_TEST_SUITE_P(TowerTrainer, Mpirun, testing::ValuesIn(models), model_name);
INSTANTIATE_TEST_SUITE_P(TowerTrainer, Moves, testing::ValuesIn(models), model_name);

// Contradictions end every process at once: none waits for what will not come.
class Contradictions : public testing::Test {
 protected:
  // Ends with code 2 and this message, long before timeouts.start, and leaves no output directory.
  void expect_refused(const Words& command, const std::string& message, const Words& more = {}) {
    auto begin = std::chrono::steady_clock::now();
    Output output = run_command(command + folder_.run("run", checked_course + test_mlp + more));
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(output.code, 2) << output.err;
    EXPECT_THAT(output.err, HasSubstr("error[2]: "));
    EXPECT_THAT(output.err, HasSubstr(message));
    EXPECT_LT(took.count(), 30);
    EXPECT_FALSE(fs::exists(folder_ / "run"));
  }

  RunFolder folder_;
};

TEST_F(Contradictions, MpirunAgainstTorchrunsVariables) {
  if (test_mpirun.empty() || !fs::exists(test_mpirun)) GTEST_SKIP() << "no mpirun";
  expect_refused(mpirun(3, {"RANK=0", "WORLD_SIZE=2"}), "two launchers disagree");
  expect_refused(mpirun(2, {"RANK=0"}), "RANK=0 is set, but WORLD_SIZE is not");
  expect_refused(mpirun(2, {"PMI_RANK=1", "PMI_SIZE=3"}), "two launchers disagree");
}

TEST_F(Contradictions, VariablesOfALauncherThatIsNotThere) {
  if (test_mpirun.empty()) GTEST_SKIP() << "built without MPI";
  expect_refused(
      Words{"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2"} + bounded + Words{TRAINER_PROGRAM},
      "mpirun started rank 0 of 2, but MPI sees rank 0 of 1");
}

TEST_F(Contradictions, WithinTorchrunsVariables) {
  Words alone = bounded + Words{TRAINER_PROGRAM};
  expect_refused(Words{"RANK=2", "WORLD_SIZE=2"} + alone, "RANK=2 and WORLD_SIZE=2 contradict");
  expect_refused(Words{"WORLD_SIZE=2"} + alone, "WORLD_SIZE=2 is set, but RANK is not");
  expect_refused(Words{"RANK=0", "WORLD_SIZE=2"} + alone, "MASTER_ADDR is not");
  expect_refused(Words{"RANK=0", "WORLD_SIZE=two", "MASTER_ADDR=::1"} + alone, "is not a number");
  expect_refused(torchrun(0, 2, "70000"), "MASTER_PORT=70000 is not a port");
}

TEST_F(Contradictions, MoreProcessesThanTowers) {
  if (test_mpirun.empty() || !fs::exists(test_mpirun)) GTEST_SKIP() << "no mpirun";
  expect_refused(mpirun(3), "towers", {"towers=2"});
}

// All come to rank 0, which sees it and tells it to all.
class Disagreements : public Contradictions {
 protected:
  void expect_all_refused(const std::vector<Words>& commands, const std::string& message) {
    std::vector<std::unique_ptr<Program>> programs;
    for (const Words& command : commands)
      programs.push_back(std::make_unique<Program>(test_env, command));
    std::string told;
    for (auto& program : programs) {
      Output output = program->finish();
      EXPECT_EQ(output.code, 2) << output.err;
      told += output.err;
    }
    EXPECT_THAT(told, HasSubstr(message));
    EXPECT_FALSE(fs::exists(folder_ / "run"));
  }

  Words run(const Words& more = {}) const {
    return folder_.run("run", checked_course + test_mlp + more);
  }
};

TEST_F(Disagreements, OneRankTwice) {
  ReservedPort held;
  std::string port = std::to_string(held.number());
  expect_all_refused(
      {torchrun(0, 3, port) + run(), torchrun(1, 3, port) + run(), torchrun(1, 3, port) + run()},
      "rank 1");
}

TEST_F(Disagreements, AnotherNumberOfRanks) {
  ReservedPort held;
  std::string port = std::to_string(held.number());
  expect_all_refused({torchrun(0, 2, port) + run(), torchrun(1, 3, port) + run()},
                     "counts 3 processes (WORLD_SIZE), rank 0");
}

TEST_F(Disagreements, AnotherConfig) {
  ReservedPort held;
  std::string port = std::to_string(held.number());
  expect_all_refused({torchrun(0, 2, port) + run(), torchrun(1, 2, port) + run({"towers=4"})},
                     "towers: 8 on rank 0, but 4 on rank 1");
  expect_all_refused({torchrun(0, 2, port) + run(),
                      torchrun(1, 2, port) + folder_.run("another", checked_course + test_mlp)},
                     "start all ranks with the same config");
  EXPECT_FALSE(fs::exists(folder_ / "another"));
}

}  // namespace
}  // namespace spire
