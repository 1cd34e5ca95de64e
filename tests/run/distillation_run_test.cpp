// Whole runs that learn from a teacher: what they say of it and keep of it, and what is said of
// teachers that do not fit. (one_hash_test.cpp has their hashes.)
#include <filesystem>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/plan.h>

#include "engine/run/run_setup.h"
#include "engine/train/tower_trainer.h"
#include "tests/base/folder.h"
#include "tests/base/message_of.h"
#include "tests/run/recorder.h"

namespace spire {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

const Words images = {"data.synthetic.shape=[8,8,1]", "data.synthetic.classes=4"};
const Words tokens = {"data.synthetic.kind=tokens", "data.synthetic.shape=[6]",
                      "data.synthetic.classes=11"};
const Words mlp = {"model.name=mlp", "model.hidden=[12]", "model.dropout=0.1"};
const Words cnn = {"model.name=cnn", "model.channels=[4,6]", "model.hidden=[8]",
                   "model.normalization=batch_norm"};
const Words blocks = {"model.blocks=1", "model.width=16", "model.heads=2"};

class Taught : public testing::Test {
 protected:
  // 4 towers of 4 samples, 4 steps.
  RunConfig config(const std::string& name, const Words& more) const {
    Words words = {"data.name=synthetic",
                   "data.synthetic.samples=60",
                   "data.synthetic.test_samples=8",
                   "batch_size=4",
                   "towers=4",
                   "tower_threads=1",
                   "devices=1xcpu",
                   "optimizer.lr=0.05",
                   "steps=4",
                   "eval.every_epochs=0",
                   "schedule.name=constant",
                   "output=" + path(name)};
    return parse_config({}, words + more).config;
  }
  RunResult run(const std::string& name, const Words& more, bool resume = false) {
    seen_.emplace();
    RunOptions options;
    options.overwrite = !resume;
    if (resume) options.resume = "auto";
    return train(config(name, more), options, *seen_);
  }
  Words from(const std::string& name) const {
    return {"distill.from=" + path(name), "distill.temperature=2", "distill.weight=0.7"};
  }
  std::string path(const std::string& name) const { return folder_ / name; }

  Folder folder_;
  std::optional<Recorder> seen_;  // of the last run
};

TEST_F(Taught, SaysWhoTeachesAndKeepsItOutOfItsFiles) {
  run("teacher", images + cnn);
  RunSummary taught = run("run", images + mlp + from("teacher")).summary;
  std::string own = taught.checkpoint;
  EXPECT_THAT(seen_->start.teacher, HasSubstr("cnn of "));
  EXPECT_THAT(seen_->start.teacher, HasSubstr("weight 0.7 at temperature 2"));
  int64_t parameters = seen_->start.parameters;
  RunSummary untaught = run("plain", images + mlp).summary;
  std::string plain = untaught.checkpoint;
  EXPECT_NE(taught.parameter_hash, untaught.parameter_hash);
  EXPECT_EQ(seen_->start.parameters, parameters);
  EXPECT_EQ(seen_->start.teacher, "");
  EXPECT_NEAR(static_cast<double>(fs::file_size(own)), static_cast<double>(fs::file_size(plain)),
              2048);
  fs::remove_all(path("teacher"));
  RunOptions options;
  options.resume = own;
  Observer silent;
  EXPECT_EQ(evaluate(config("run", images + mlp + from("teacher")), options, silent).samples, 8);
}

TEST_F(Taught, GoesOnWithItsOwnTeacherOnly) {
  run("teacher", images + cnn);
  run("other", images + cnn + Words{"seed=12"});
  run("run", images + mlp + from("teacher"));
  Words on = images + mlp + Words{"steps=5"};
  EXPECT_THAT(message_of(Category::checkpoint, [&] { run("run", on + from("other"), true); }),
              HasSubstr("learns from a teacher with"));
  fs::rename(path("teacher"), path("moved"));
  run("run", on + from("moved"), true);
  EXPECT_THAT(seen_->warnings, Not(Contains(HasSubstr("distill"))));
  run("run", images + mlp + Words{"steps=6"}, true);
  EXPECT_THAT(seen_->warnings, Contains(HasSubstr("distill.hash is auto, was")));
}

TEST_F(Taught, ByATeacherThatDoesNotFitIsRefused) {
  auto refusal = [&](Category category, const Words& words) {
    return message_of(category, [&] { run("run", words); });
  };
  EXPECT_THAT(refusal(Category::checkpoint, images + mlp + from("nowhere")), HasSubstr("nowhere"));
  run("tokens", tokens + blocks + Words{"model.name=gpt"});
  EXPECT_THAT(refusal(Category::data, images + mlp + from("tokens")),
              HasSubstr("was trained on tokens, but the data has images"));
  run("teacher", images + mlp);
  EXPECT_THAT(
      refusal(Category::data, images + mlp + from("teacher") + Words{"data.synthetic.classes=5"}),
      HasSubstr("was trained on 4 classes, but the data has 5"));
  EXPECT_THAT(refusal(Category::config,
                      images + mlp + from("teacher") + Words{"data.synthetic.shape=[6,6,1]"}),
              HasSubstr("the teacher's model needs 'dense1.weight'"));
  EXPECT_THAT(refusal(Category::checkpoint,
                      images + mlp + from("teacher") + Words{"distill.hash=0123456789abcdef"}),
              HasSubstr("distill.hash: 0123456789abcdef, but the weights of"));
  EXPECT_THAT(refusal(Category::config, images + mlp + from("teacher") + Words{"loss.name=mse"}),
              HasSubstr("needs loss.name: cross_entropy or focal"));
}

// The teacher's own run may delete the checkpoint meanwhile, or write another in its place. One
// that is cut short is an error.
TEST_F(Taught, KeepsTheFileOpen) {
  std::string file = run("teacher", images + cnn).summary.checkpoint;
  Observer observer;
  RunSetup setup(config("run", images + mlp + from("teacher")), {}, observer);
  auto make = [&] { TowerTrainer(setup.trainer_options(), setup.placement); };
  fs::rename(file, file + ".old");
  make();
  fs::resize_file(file + ".old", 4096);
  EXPECT_THAT(message_of(Category::checkpoint, make),
              HasSubstr(fs::path(file).filename().string()));
}

TEST_F(Taught, IsPlannedWithItsTeachersWeights) {
  run("teacher", images + cnn);
  auto weights = [&](const Words& more) {
    PlanReport report = plan(config("run", images + mlp + more));
    for (const auto& [kind, bytes] : report.start.devices[0].planned_memory)
      if (kind == "weights") return bytes;
    return int64_t{0};
  };
  EXPECT_GT(weights(from("teacher")), weights({}) + 4 * 4 * 9);
}

}  // namespace
}  // namespace spire
