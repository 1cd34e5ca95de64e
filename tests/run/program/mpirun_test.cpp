// Several real processes, started by mpirun, torchrun, with its variables or by the program itself:
// the bits of one process, files written by rank 0 alone, and contradictions answered at once.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/process/socket.h"
#include "tests/long_tests.h"
#include "tests/run/program/run_folder.h"

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

// One way to start the ranks of a run. Returns what each process printed, that of rank 0 first.
struct Launcher {
  std::string name;
  std::function<std::vector<Output>(int ranks, const Words& words)> run;
};

const std::vector<Launcher> launchers = {
    {"mpirun",
     [](int ranks, const Words& words) {
       return std::vector<Output>{run_command(mpirun(ranks) + words)};
     }},
    {"torchruns_variables", run_torchrun},
    {"processes", [](int ranks, const Words& words) {
       return std::vector<Output>{trainer(words + Words{"--processes", std::to_string(ranks)})};
     }}};

// Where a run, or a part of one, is hosted.
struct Place {
  int ranks, devices;
  std::string strategy;
  friend std::ostream& operator<<(std::ostream& out, const Place& p) {
    return out << p.ranks << " processes x " << p.devices << " devices, " << p.strategy;
  }
};

class Launched : public testing::TestWithParam<std::tuple<Launcher, Model>> {
 protected:
  void SetUp() override {
    if (launcher_.name == "mpirun" && !fs::exists(test_mpirun)) GTEST_SKIP() << "no mpirun";
    hash_ = printed_hash(trainer(words("one")));
  }
  Words words(const std::string& name, const Words& more = {}) const {
    return folder_.run(name, checked_course + std::get<Model>(GetParam()).words + more);
  }
  std::vector<Output> run(const Place& place, const Words& words) const {
    Words all = words + Words{devices_word(place.devices), "strategy=" + place.strategy};
    return place.ranks == 0 ? std::vector<Output>{trainer(all)} : launcher_.run(place.ranks, all);
  }
  // Without the evaluation at step 23, at which the straight run has none.
  std::vector<Json> train_lines(const std::string& name) const {
    auto lines = curve(folder_.metrics(name));
    std::erase_if(lines, [](const Json& line) { return !line.contains("train/loss"); });
    EXPECT_EQ(lines.size(), 50u) << name;
    return lines;
  }

  RunFolder folder_;
  Launcher launcher_ = std::get<Launcher>(GetParam());
  std::string hash_;  // of a program alone
};

TEST_P(Launched, AllEndAsOneProgramAndRankZeroAloneWritesAndSpeaks) {
  for (auto [ranks, devices] : {std::pair{1, 2}, {2, 2}, {4, 1}})
    for (const char* strategy : {"parameter_device", "mirrored", "sharded"}) {
      Place place{ranks, devices, strategy};
      SCOPED_TRACE(testing::PrintToString(place));
      auto outputs = run(place, words("some", {"--overwrite"}));
      EXPECT_EQ(printed_hash(outputs[0]), hash_);
      for (size_t rank = 1; rank < outputs.size(); ++rank) {
        EXPECT_EQ(outputs[rank].code, 0);
        EXPECT_EQ(outputs[rank].out + outputs[rank].err, "") << "rank " << rank;
      }
      const auto& [code, out, err] = outputs[0];
      EXPECT_EQ(count(out, "parameter hash"), 1) << out;
      for (const char* once : {"\nglobal batch", "step 50/50"})
        EXPECT_EQ(count(err, once), 1) << err;
      const char* library = launcher_.name == "mpirun" ? "MPI" : "TCP";
      EXPECT_EQ(count(err, fmt::format("\nprocesses     {} over {}", ranks, library)), ranks > 1)
          << err;
      EXPECT_EQ(count(err, "restart"), 0) << err;
      EXPECT_EQ(curve(folder_.metrics("some")), curve(folder_.metrics("one")));
    }
  EXPECT_EQ(files(folder_ / "some"), files(folder_ / "one"));
  EXPECT_EQ(folder_.summary("some")["val"], folder_.summary("one")["val"]);
}

// 23 steps, an epoch and a bit, at one place; then a copy goes on at each of the others. In the
// short form what began in two processes goes on only at the first and the last place.
TEST_P(Launched, ACheckpointGoesOnAnywhere) {
  const std::vector<Place> places = {{0, 1, "parameter_device"}, {0, 2, "sharded"},
                                     {0, 4, "mirrored"},         {0, 8, "parameter_device"},
                                     {2, 2, "sharded"},          {2, 2, "mirrored"}};
  for (const Place& from : {Place{0, 4, "parameter_device"}, {2, 2, "sharded"}}) {
    ASSERT_EQ(run(from, words("leg", {"steps=23", "--overwrite"}))[0].code, 0) << from;
    for (const Place& to : places) {
      bool middle = &to != &places.front() && &to != &places.back();
      if (from.ranks > 0 && middle && !long_tests()) continue;
      fs::remove_all(folder_ / "rest");
      fs::copy(folder_ / "leg", folder_ / "rest", fs::copy_options::recursive);
      Output output = run(to, words("rest", {"--resume", "auto"}))[0];
      EXPECT_THAT(output.err, HasSubstr("at step 23 from "));
      EXPECT_EQ(printed_hash(output), hash_) << to;
      EXPECT_EQ(train_lines("rest"), train_lines("one")) << to;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(TowerTrainer, Launched,
                         testing::Combine(testing::ValuesIn(launchers), testing::ValuesIn(models)),
                         [](const auto& test) {
                           return std::get<Launcher>(test.param).name + "_" +
                                  std::get<Model>(test.param).name;
                         });

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
                     "all ranks need the same config");
  EXPECT_FALSE(fs::exists(folder_ / "another"));
}

using testing::Not;

const std::string test_torchrun = TORCHRUN_PROGRAM;

// PyTorch's own keeps MASTER_PORT for its store, and the ranks meet through that. Skipped where it
// is not installed; tests/process/rendezvous/torch_store_test.cpp speaks to a stand-in everywhere.
class Torchrun : public testing::Test {
 protected:
  void SetUp() override {
    if (test_torchrun.empty() || !fs::exists(test_torchrun)) GTEST_SKIP() << "no torchrun";
  }
  Output run(const Words& variables, const Words& options, const std::string& name) const {
    Words command = variables + Words{"timeout", "--kill-after=5", "100", test_torchrun} + options +
                    Words{"--nproc-per-node=2", "--no-python", TRAINER_PROGRAM};
    return Program("/usr/bin/env", command + folder_.run(name, test_course + test_mlp)).finish();
  }
  RunFolder folder_;
};

TEST_F(Torchrun, StartsARunInEachOfItsModes) {
  Output alone = trainer(folder_.run("alone", test_course + test_mlp));
  ASSERT_EQ(alone.code, 0) << alone.err;
  std::string port = std::to_string(ReservedPort().number());
  struct {
    const char* name;
    Words variables, options;
  } modes[] = {
      {"standalone", {}, {"--standalone"}},
      {"fixed", {}, {"--master-addr=127.0.0.1", "--master-port=" + port}},
      {"c10d", {}, {"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:" + port}},
      {"secret", {"SPIRE_SECRET=the ranks of this test"}, {"--standalone"}},
      {"own_port", {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"}, {"--standalone"}},
  };
  for (const auto& [name, variables, options] : modes) {
    Output output = run(variables, options, name);
    EXPECT_EQ(output.code, 0) << name << '\n' << output.err;
    EXPECT_EQ(printed_hash(output), printed_hash(alone)) << name;
    EXPECT_THAT(output.err, Not(HasSubstr("error["))) << name;
  }
}

}  // namespace
}  // namespace spire
