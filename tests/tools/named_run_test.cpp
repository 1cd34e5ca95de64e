// The ways to name a checkpoint: eval, predict and --resume understand the same ones, and take the
// config of the run.
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/small_data.h"

namespace spire {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// A run of 12 steps in `run`, with checkpoints of steps 4, 8 and 12. Its batch size, seed and model
// are not the defaults; its best checkpoint is made to be that of step 8.
class NamedRun : public testing::Test {
 protected:
  void SetUp() override {
    Output output = expect_success(trainer(data_.run(
        "run", {"model.hidden=[12]", "batch_size=16", "seed=9", "checkpoint.every_steps=4",
                "checkpoint.keep_last=9", "eval.every_steps=4"})));
    hash_ = printed_hash(output);
    std::ofstream(run() + "/checkpoints/best") << "step_00000008.h5\n";
  }

  std::string run() const { return data_.output("run"); }
  std::string file(int step) const {
    return fmt::format("{}/checkpoints/step_{:08}.h5", run(), step);
  }
  static Output eval(const Words& words) { return trainer(Words{"eval"} + words); }

  SmallData data_;
  std::string hash_;
};

struct Name {
  std::string words;  // with R for the run's directory; each word after a blank
  int step;           // of the checkpoint that is meant
};

Words words_of(const std::string& text, const std::string& run) {
  Words words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    size_t at = word.find('R');
    words.push_back(at == word.npos ? word : word.replace(at, 1, run));
  }
  return words;
}

TEST_F(NamedRun, EvalAndPredictFindTheCheckpoint) {
  for (const Name& name : std::vector<Name>{{"--checkpoint R", 8},
                                            {"R", 8},
                                            {"R/latest", 12},
                                            {"output=R latest", 12},
                                            {"--checkpoint R/", 8},
                                            {"--checkpoint R/checkpoints", 8},
                                            {"--checkpoint R/checkpoints/", 8},
                                            {"--checkpoint R/checkpoints/best", 8},
                                            {"--checkpoint R/checkpoints/latest", 12},
                                            {"--checkpoint R/best", 8},
                                            {"--checkpoint R/latest", 12},
                                            {"--checkpoint best output=R", 8},
                                            {"--checkpoint latest output=R", 12},
                                            {"--checkpoint R/checkpoints/step_00000004.h5", 4}}) {
    SCOPED_TRACE(name.words);
    Words words = words_of(name.words, run());
    Output named = expect_success(eval(words));
    EXPECT_EQ(named.err, "");
    EXPECT_EQ(fs::path(line_value(named.out, "checkpoint ")).filename(),
              fs::path(file(name.step)).filename());
    Output predicted = expect_success(trainer(Words{"predict"} + words));
    EXPECT_EQ(predicted.out, trainer({"predict", "--checkpoint", file(name.step)}).out);
  }
}

TEST_F(NamedRun, TheFirstPathNamesTheRunAndTheOthersAreInputs) {
  std::string images = data_.output("t10k-images-idx3-ubyte");
  Output named = expect_success(trainer({"predict", "--checkpoint", run(), images}));
  EXPECT_EQ(trainer({"predict", run(), images}).out, named.out);
  EXPECT_EQ(trainer({"predict", images, "--checkpoint", run()}).out, named.out);
  expect_error(2, eval({run(), run()}), "is neither a subcommand nor of the form");
}

TEST_F(NamedRun, ExportMakesTheFolderOfItsFile) {
  std::string file = data_.output("new/deep/model.safetensors");
  Output output = expect_success(trainer({"export", run(), "--to", file}));
  EXPECT_GT(fs::file_size(file), 0u);
  std::string table = data_.output("other/predictions.csv");
  EXPECT_EQ(trainer({"predict", run(), "--to", table}).code, 0);
  EXPECT_GT(fs::file_size(table), 0u);
  expect_error(2, trainer({"export", run(), "--to", file + "/x.onnx"}), "Not a directory");
}

TEST_F(NamedRun, EvalNeedsNoNameWhereTheOutputSaysIt) {
  Output output = expect_success(eval({"-o", run()}));
  EXPECT_EQ(fs::path(line_value(output.out, "checkpoint ")).filename(), "step_00000008.h5");
}

TEST_F(NamedRun, EvaluationMayHaveAnotherBatchSizeAndSeed) {
  Output own = eval({"--checkpoint", run()});
  for (const char* word : {"batch_size=128", "batch_size=1", "seed=1", "devices=cpu:1"}) {
    Output other = expect_success(eval({"--checkpoint", run(), word}));
    EXPECT_EQ(line_value(other.out, "test_accuracy "), line_value(own.out, "test_accuracy "));
  }
}

// The same end as without a stop, in the same directory, with the run's own config.
TEST_F(NamedRun, ResumeGoesOnWithTheConfigOfTheRun) {
  Output whole =
      trainer(data_.run("whole", {"model.hidden=[12]", "batch_size=16", "seed=9", "steps=16",
                                  "checkpoint.every_steps=4", "eval.every_steps=4"}));
  for (const Name& name : std::vector<Name>{{"--resume R", 12},
                                            {"--resume R/checkpoints/latest", 12},
                                            {"--resume latest output=R", 12},
                                            {"--resume auto output=R", 12},
                                            {"--resume R/checkpoints/step_00000004.h5", 4},
                                            {"--resume R/checkpoints/best", 8},
                                            {"--resume best -o R", 8}}) {
    SCOPED_TRACE(name.words);
    std::string copy = data_.output("copy");
    fs::remove_all(copy);
    fs::copy(run(), copy, fs::copy_options::recursive);
    Output output = expect_success(trainer(words_of(name.words, copy) + Words{"steps=16"}));
    expect_parts(output.err, {fs::path(file(name.step)).filename().string(),
                              ".h5: steps is 16, was 12; the result"});
    EXPECT_EQ(printed_hash(output), printed_hash(whole));
    EXPECT_TRUE(fs::exists(copy + "/checkpoints/step_00000016.h5"));
  }
}

TEST_F(NamedRun, ResumeIntoAnotherDirectoryIsABranch) {
  std::string branch = data_.output("branch");
  Output output = expect_success(trainer({"--resume", run(), "-o", branch, "steps=16"}));
  EXPECT_TRUE(fs::exists(branch + "/checkpoints/step_00000016.h5"));
  EXPECT_TRUE(fs::exists(file(12)));
  EXPECT_FALSE(fs::exists(file(16)));
}

// A config that leaves the seed and the batch size out means those of the run; one that gives
// others is refused, and so are keys.
TEST_F(NamedRun, ResumeWithAConfigComparesTheKeysItGives) {
  std::string config = data_.folder.write(
      "run.yaml", fmt::format("data: {{name: idx, path: {}}}\nmodel: {{name: mlp, hidden: "
                              "[12]}}\ndevices: cpu\noutput: {}\nsteps: 12\n",
                              data_.output("."), run()));
  for (const char* name : {"auto", "latest", "best"})
    expect_success(trainer({"--config", config, "--resume", name, "--max-restarts", "1"}));
  EXPECT_EQ(trainer({"--config", config, "--resume", run()}).code, 0);
  expect_error(2, trainer({"--config", config, "--resume", run(), "batch_size=128"}),
               "batch_size: 128, but the run of");
  expect_error(2, trainer({"--resume", run(), "seed=1"}), "seed: 1, but the run of");
}

TEST_F(NamedRun, PrintConfigShowsTheConfigOfTheRun) {
  for (const char* command : {"train", "eval"}) {
    Output output = expect_success(trainer({command, "--resume", run(), "--print-config"}));
    expect_parts(output.out, {"batch_size: 16", "the config in " + run()});
  }
}

// In a folder without runs/spire, where runs lie that set no output.
TEST_F(NamedRun, NoNameIsAskedFor) {
  fs::path before = fs::current_path();
  fs::current_path(data_.output("."));
  expect_error(2, trainer({"eval"}),
               "trainer eval: no run is named, and runs/spire is not there: trainer eval "
               "RUN ..., or --checkpoint RUN");
  fs::current_path(before);
}

TEST_F(NamedRun, WhatIsNoCheckpointIsCodeFiveAndNamed) {
  std::string empty = data_.output("empty");
  fs::create_directories(empty);
  fs::create_directories(data_.output("unfinished") + "/checkpoints");
  std::ofstream(run() + "/checkpoints/best") << "step_00000099.h5\n";
  struct Bad {
    std::string name, says;
  };
  for (const Bad& bad :
       {Bad{data_.output("none"), "none: nothing is there; give the directory of a run"},
        Bad{"bset", "bset: nothing is there"}, Bad{empty, "holds no checkpoint"},
        Bad{data_.output("unfinished"), "holds no checkpoint"},
        Bad{run() + "/checkpoints/best", "has no best checkpoint"},
        Bad{run() + "/config.yaml", "is not a Spire checkpoint"}}) {
    for (const Words& words : {Words{"eval", "--checkpoint"}, Words{"predict", "--checkpoint"},
                               Words{"train", "--resume"}})
      expect_error(5, trainer(words + Words{bad.name}), bad.says);
  }
}

}  // namespace
}  // namespace spire
