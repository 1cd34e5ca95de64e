// Checks names and cores of a run's threads: a thread's cores do not depend on the thread that
// started it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <latch>
#include <map>
#include <mutex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <spire/train.h>

#include "engine/base/thread.h"
#include "engine/config/words.h"
#include "engine/device/topology.h"
#include "engine/train/placement/rank_hardware.h"
#include "tests/base/folder.h"
#include "tests/process/ranks.h"
#include "tests/run/recorder.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using Cores = std::vector<int>;

struct SeenThread {
  std::string name;
  Cores cores;
};

std::string line_of(const fs::path& file, const std::string& label) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(label)) return line.substr(label.size());
  }
  return "";
}

// Returns the threads of this process by id. One that ends meanwhile may lack its cores.
std::map<std::string, SeenThread> threads_now() {
  std::map<std::string, SeenThread> threads;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    Cores cores = read_core_list(line_of(task.path() / "status", "Cpus_allowed_list:"));
    std::string name = line_of(task.path() / "comm", "");
    if (!cores.empty() && !name.empty()) threads[task.path().filename()] = {name, cores};
  }
  return threads;
}

// Collects the threads that a run starts, whenever one of them enters a phase.
class Census {
 public:
  void count() {
    auto now = threads_now();
    std::lock_guard lock(mutex_);
    for (const auto& [id, thread] : now) {
      if (!before_.contains(id)) cores_[thread.name].insert(thread.cores);
      if (!before_.contains(id)) ids_[thread.name].insert(id);
    }
  }
  // The cores that threads of each name were seen with.
  const std::map<std::string, std::set<Cores>>& cores() const { return cores_; }
  size_t threads(const std::string& name) { return ids_[name].size(); }

 private:
  std::mutex mutex_;
  const std::map<std::string, SeenThread> before_ = threads_now();
  std::map<std::string, std::set<Cores>> cores_;
  std::map<std::string, std::set<std::string>> ids_;
};

class RunThreads : public testing::Test {
 protected:
  // Evaluations have more batches than are prepared ahead, so that readers are at work in them.
  RunConfig config(const std::string& pin, int64_t towers, int64_t tower_threads) const {
    RunConfig config;
    config.model.name = "mlp";
    config.model.hidden = {32};
    config.data.name = "synthetic";
    config.data.synthetic = {.shape = {8, 8, 1}, .classes = 4, .samples = 128, .test_samples = 128};
    config.data.workers = 4;
    config.data.prefetch = 1;
    config.batch_size = 8;
    config.towers = towers;
    config.tower_threads = tower_threads;
    config.devices = {"cpu"};
    config.pin = *find_word<RunConfig::Pin>(pin);
    config.steps = 4;
    config.eval.every_steps = 2;
    config.checkpoint.every_steps = 1;
    config.output = (folder_ / "run").string();
    return config;
  }

  // By the start block's line of cores, and the hash of the weights.
  struct Ended {
    std::string cores, hash;
  };
  Ended train_once(const RunConfig& config, Census& census, World* world = nullptr) const {
    Recorder recorder;
    RunOptions options;
    options.overwrite = true;
    options.world = world;
    options.on_phase = [&](const PhaseRow&) { census.count(); };
    RunResult result = train(config, options, recorder);
    return {recorder.start.cores, result.summary.parameter_hash};
  }

  const Cores all_ = allowed_cores();
  Folder folder_;
};

TEST_F(RunThreads, AllHaveNamesAndOnlyLanesArePinned) {
  Census census;
  train_once(config("true", 1, 1), census);
  std::map<std::string, std::set<Cores>> expected = {{"spire lane 0", {{all_.front()}}},
                                                     {"spire writer", {all_}},
                                                     {"spire watchdog", {all_}},
                                                     {"spire monitor", {all_}}};
  for (int reader = 0; reader < 4; ++reader) {
    expected["spire reader " + std::to_string(reader)] = {all_};
    expected["spire tester " + std::to_string(reader)] = {all_};
  }
  EXPECT_EQ(census.cores(), expected);
}

// Loops that need fewer threads than the lane has end some, and larger ones start others. Beside
// other programs the team takes turns on some of these cores.
TEST_F(RunThreads, ATeamHasTheNameAndTheCoresOfItsLane) {
  for (const char* pin : {"true", "false"}) {
    Census census;
    train_once(config(pin, 1, 3), census);
    EXPECT_GE(census.threads("spire lane 0"), 3u);
    int own = static_cast<int>(all_.size());
    if (std::string(pin) == "true") own = std::min(3, local_hardware().max_threads());
    Cores cores(all_.begin(), all_.begin() + own);
    for (const Cores& seen : census.cores().at("spire lane 0"))
      EXPECT_TRUE(std::ranges::includes(cores, seen)) << pin;
  }
}

TEST_F(RunThreads, ExchangesOfRanksRunOnAllCores) {
  Census census;
  auto worlds = threads_world(2, {.cores = all_, .on_exit_timeout = {}});
  std::latch named(2);
  run_ranks(2, [&](int rank) {
    pthread_setname_np(pthread_self(), "rank");
    named.arrive_and_wait();
    train_once(config("true", 2, 1), census, worlds[static_cast<size_t>(rank)].get());
  });
  EXPECT_EQ(census.cores().at("spire exchange"), std::set<Cores>{all_});
  EXPECT_EQ(census.threads("spire exchange"), 2u);
  std::set<Cores> lanes = {{all_.front()}, {all_[all_.size() > 1 ? (all_.size() + 1) / 2 : 0]}};
  EXPECT_EQ(census.cores().at("spire lane 0"), lanes);
  for (const auto& [name, cores] : census.cores())
    EXPECT_THAT(
        name,
        testing::MatchesRegex(
            "rank|spire (lane|lane 0|(reader|tester) [0-3]|writer|exchange|watchdog|monitor)"));
}

TEST_F(RunThreads, BitsDoNotDependOnPinning) {
  Census census;
  Ended pinned = train_once(config("true", 2, 1), census);
  Ended free = train_once(config("false", 2, 1), census);
  EXPECT_THAT(pinned.cores, testing::HasSubstr(", pinned to "));
  EXPECT_THAT(free.cores, testing::EndsWith(", not pinned (pin: false)"));
  EXPECT_EQ(pinned.hash.size(), 16u);
  EXPECT_EQ(pinned.hash, free.hash);
}

}  // namespace
}  // namespace spire
