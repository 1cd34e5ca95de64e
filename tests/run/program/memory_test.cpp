// What a run takes of the host's memory is what it plans, at checkpoints too; and limits of the
// process are the memory there is.
#include <cstdlib>
#include <numeric>
#include <regex>
#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/set_variable.h"
#include "tests/long_tests.h"
#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

constexpr int64_t mib = int64_t{1} << 20;

// 9.4 million weights: a state of 108 MiB.
const Words large = {
    "model.name=mlp", "model.hidden=[3000,3000]", "optimizer.name=adamw",    "optimizer.lr=0.001",
    "steps=4",        "eval.every_epochs=9",      "checkpoint.every_steps=1"};

int64_t planned_bytes(const Json& summary) {
  int64_t bytes = 0;
  for (const auto& [kind, of_kind] : summary["planned_memory_bytes"].items())
    bytes += of_kind.get<int64_t>();
  return bytes;
}

// Resident memory beyond the plan: the program itself, its data.
int64_t beside_plan(const Json& summary) {
  return summary["peak_memory_bytes"]["host_rss"].get<int64_t>() - planned_bytes(summary);
}

TEST(Memory, OfARunThatWritesCheckpointsIsThePlan) {
  RunFolder folder;
  trainer(folder.run("small", test_mlp + Words{"steps=4"}));
  int64_t program = beside_plan(folder.summary("small"));
  std::vector<std::string> hashes;
  for (const char* snapshot : {"always", "never"}) {
    Output output = trainer(
        folder.run(snapshot, large + Words{std::string("checkpoint.snapshot=") + snapshot}));
    ASSERT_EQ(output.code, 0) << output.err;
    hashes.push_back(printed_hash(output));
    EXPECT_LT(beside_plan(folder.summary(snapshot)), program + 64 * mib) << snapshot;
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  int64_t snapshot =
      planned_bytes(folder.summary("always")) - planned_bytes(folder.summary("never"));
  EXPECT_NEAR(static_cast<double>(snapshot), 108.0 * mib, 2.0 * mib);
  Output resumed = trainer(folder.run("never", large + Words{"steps=6", "--resume", "auto"}));
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_LT(beside_plan(folder.summary("never")), program + 64 * mib) << "resumed";
}

TEST(Memory, NoSnapshotIsPlannedWhereNoStepFollowsTheCheckpoint) {
  RunFolder folder;
  auto planned = [&](const std::string& run, const Words& more) {
    Output output = trainer(folder.run(run, test_mlp + Words{"steps=2"} + more));
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_EQ(folder.checkpoints(run).back(), 2) << run;
    return planned_bytes(folder.summary(run));
  };
  int64_t never = planned("never", {"checkpoint.snapshot=never"});
  EXPECT_EQ(planned("last", {"checkpoint.every_epochs=0"}), never);
  EXPECT_GT(planned("all", {"checkpoint.every_epochs=1"}), never);
}

struct ModelCase {
  const char* name;
  Words words;
};

const Words synthetic_images = {"data.name=synthetic", "data.synthetic.kind=images",
                                "batch_size=64", "data.augment.crop=0", "data.augment.flip=false"};
const Words small_images = synthetic_images + Words{"data.synthetic.shape=[28,28,1]"};
const Words tokens = {"data.name=synthetic", "data.synthetic.kind=tokens",
                      "data.synthetic.shape=[128]", "batch_size=8", "optimizer.name=adamw"};

// With all that a run may do beside its steps: it evaluates averaged weights and saves, and
// resumes.
TEST(Memory, OfEveryModelIsAtMostThePlanAndALittle) {
  const std::vector<ModelCase> models = {
      {"mlp", small_images + Words{"model.name=mlp", "model.hidden=[512,256]"}},
      {"cnn", small_images + Words{"model.name=cnn"}},
      {"resnet20", synthetic_images + Words{"data.synthetic.shape=[32,32,3]", "model.name=resnet",
                                            "model.depth=20"}},
      {"gpt", tokens + Words{"model.name=gpt", "model.blocks=2", "model.width=192", "model.heads=6",
                             "eval.samples=0"}}};
  RunFolder folder;
  auto expect_planned = [&](const ModelCase& model, const std::string& run, const Words& more) {
    Output output = trainer(
        folder.run(run, Words{"towers=2", "optimizer.lr=0.001", "data.synthetic.samples=1024",
                              "data.synthetic.test_samples=128", "checkpoint.every_steps=1"} +
                            model.words + more));
    ASSERT_EQ(output.code, 0) << run << ": " << output.err;
    EXPECT_LT(beside_plan(folder.summary(run)), int64_t{BESIDE_PLAN_MIB} * mib)
        << run << " " << testing::PrintToString(more);
  };
  for (const ModelCase& model : models) {
    std::string snapshot = std::string(model.name) + "_snapshot", plain = model.name;
    expect_planned(model, plain, {"steps=2", "checkpoint.snapshot=never"});
    expect_planned(model, snapshot, {"steps=1", "ema.decay=0.9", "checkpoint.snapshot=always"});
    expect_planned(model, snapshot, {"steps=2", "ema.decay=0.9", "--resume", "auto"});
  }
}

// Inherited by the programs that this process starts while the object lives.
class MemoryLimit {
 public:
  MemoryLimit(int which, int64_t bytes) : which_(static_cast<__rlimit_resource>(which)) {
    getrlimit(which_, &before_);
    rlimit limit = {static_cast<rlim_t>(bytes), before_.rlim_max};
    setrlimit(which_, &limit);
  }
  ~MemoryLimit() { setrlimit(which_, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  __rlimit_resource which_;
  rlimit before_{};
};

Words plan_of(const Words& run) {
  return Words{"plan"} + run;
}

// What a model of any size would take is computed, not tried.
TEST(Memory, PlansOfAbsurdSizesTakeAlmostNone) {
  RunFolder folder;
  MemoryLimit limit(RLIMIT_AS, 1024 * mib);
  std::string long_list = "model.hidden=[1000000";
  for (int i = 1; i < 100; ++i) long_list += ",1000000";
  struct Absurd {
    Words words;
    const char* says;
  };
  for (const Absurd& absurd :
       {Absurd{{"model.hidden=[1000000,1000000]"}, " TiB, most of it for gradients; "},
        {{"model.hidden=[1000000,1000000]", "optimizer.name=lamb", "ema.decay=0.9"}, "TiB"},
        {{long_list + "]"}, "take 360 TiB, and no device has that; make the model smaller"}})
    for (const char* command : {"train", "plan"}) {
      Words words = folder.run("absurd", Words{"model.name=mlp"} + absurd.words);
      words.insert(words.begin(), command);
      if (words[0] == "train") words.push_back("--check");
      rusage before{}, after{};
      getrusage(RUSAGE_CHILDREN, &before);
      Output output = trainer(words);
      getrusage(RUSAGE_CHILDREN, &after);
      EXPECT_EQ(output.code, 6) << output.err;
      EXPECT_THAT(output.last_error_line(), HasSubstr(absurd.says));
      EXPECT_LT(after.ru_utime.tv_sec - before.ru_utime.tv_sec, 5);
    }
}

TEST(Memory, UlimitsAreTheMemoryThereIs) {
  RunFolder folder;
  for (auto [which, name] :
       {std::pair(RLIMIT_AS, "ulimit -v"), std::pair(RLIMIT_DATA, "ulimit -d")}) {
    MemoryLimit limit(which, 4096 * mib);
    Words huge = folder.run("huge", large + Words{"model.hidden=[20000,20000]"});
    Output plan = trainer(plan_of(huge));
    EXPECT_EQ(plan.code, 6) << plan.err;
    EXPECT_THAT(plan.out, ContainsRegex("\nhost memory +[0-9.]+ GiB are free of " +
                                        std::string(name) + ", 4.0 GiB\n"));
    EXPECT_THAT(plan.err, ContainsRegex("cannot allocate.* are free of " + std::string(name)));
    Output check = trainer(huge + Words{"--check"});
    EXPECT_EQ(check.code, 6) << check.err;
    EXPECT_THAT(check.err, HasSubstr(name));
    Output run = trainer(huge);
    EXPECT_EQ(run.code, 6) << run.err;
  }
}

// Libraries crash where they get no memory: so a run has enough for them, or does not begin.
TEST(Memory, NoLimitOnAddressesEndsARunByASignal) {
  RunFolder folder;
  int ran = 0;
  for (int64_t limited = 150; limited <= 850; limited += long_tests() ? 10 : 50) {
    MemoryLimit limit(RLIMIT_AS, limited * mib);
    Output output = trainer(folder.run("run", test_mlp + Words{"steps=4", "--overwrite"}));
    EXPECT_THAT(output.code, testing::AnyOf(0, 3, 6)) << limited << "\n" << output.err;
    if (output.code == 6) {
      EXPECT_THAT(output.last_error_line(), HasSubstr("ulimit -v")) << limited;
    }
    ran += output.code == 0 ? 1 : 0;
  }
  EXPECT_GE(ran, 3);
}

// Freed memory has other bytes, and new memory is not zero.
TEST(Memory, ThatIsFreedIsNotUsed) {
  RunFolder folder;
  SetVariable perturb("MALLOC_PERTURB_", "123");
  Words words = test_mlp + Words{"checkpoint.every_steps=2"};
  std::string run = folder / "run", file = folder / "data.h5";
  for (const Words& command :
       {folder.run("run", words + Words{"steps=4"}),
        folder.run("run", words + Words{"steps=6", "--resume", "auto"}),
        Words{"eval", "--checkpoint", run, "--quiet"}, Words{"audit", run},
        Words{"dataset", "convert", "--to", file} + folder.run("none", {}),
        folder.run("hdf5", words + Words{"steps=4", "data.name=hdf5", "data.path=" + file})}) {
    Output output = trainer(command);
    EXPECT_EQ(output.code, 0) << command[0] << "\n" << output.err;
  }
}

// There is memory for the plan and a little more, so checkpoints go without a snapshot.
TEST(Memory, ALimitThatLeavesNoRoomForASnapshotLeavesCheckpoints) {
  RunFolder folder;
  std::string hash =
      printed_hash(trainer(folder.run("free", large + Words{"checkpoint.snapshot=never"})));
  int64_t planned = planned_bytes(folder.summary("free"));
  int64_t program = 0;
  {
    MemoryLimit limit(RLIMIT_DATA, 1000 * mib);
    std::string text = trainer(plan_of(folder.run("free", large))).out;
    std::smatch found;
    ASSERT_TRUE(std::regex_search(text, found, std::regex("host memory +([0-9.]+) MiB"))) << text;
    program = 1000 * mib - static_cast<int64_t>(std::stod(found[1]) * 0x1p20);
  }
  MemoryLimit limit(RLIMIT_DATA, program + planned + 128 * mib);
  Output output = trainer(folder.run("tight", large));
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out + output.err, HasSubstr("from the state itself, in pieces of 8.0 MiB"));
  EXPECT_EQ(printed_hash(output), hash);
  EXPECT_EQ(folder.checkpoints("tight").back(), 4);
}

}  // namespace
}  // namespace spire
