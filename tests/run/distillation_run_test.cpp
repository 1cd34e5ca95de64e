// Whole runs that learn from a teacher: one hash on any devices and over a stop, and what is said
// of teachers that do not fit.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <spire/load_config.h>
#include <spire/plan.h>
#include <spire/train.h>

#include "engine/run/run_setup.h"
#include "engine/train/tower_trainer.h"
#include "tests/base/message_of.h"
#include "tests/tools/small_data.h"

namespace spire {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Settings = std::vector<std::string>;
namespace fs = std::filesystem;

Settings operator+(Settings words, const Settings& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class TaughtRun : public Observer {
 public:
  void on_start(const StartInfo& info) override { start = info; }
  void on_warning(std::string_view text) override { warnings.emplace_back(text); }

  StartInfo start;
  std::vector<std::string> warnings;
};

const Settings images = {"data.synthetic.shape=[8,8,1]", "data.synthetic.classes=4"};
const Settings tokens = {"data.synthetic.kind=tokens", "data.synthetic.shape=[6]",
                         "data.synthetic.classes=11"};
const Settings mlp = {"model.name=mlp", "model.hidden=[12]", "model.dropout=0.1"};
const Settings cnn = {"model.name=cnn", "model.channels=[4,6]", "model.hidden=[8]",
                      "model.normalization=batch_norm"};
const Settings blocks = {"model.blocks=1", "model.width=16", "model.heads=2"};

class Taught : public testing::Test {
 protected:
  Taught() {
    std::string pattern = fs::temp_directory_path() / "spire_taught_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Taught() override { fs::remove_all(folder_); }

  // 4 towers of 4 samples, 4 steps.
  RunConfig config(const std::string& name, const Settings& more) const {
    Settings words = {"data.name=synthetic",
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
  RunResult run(const std::string& name, const Settings& more, bool resume = false) {
    seen_ = {};
    RunOptions options;
    options.overwrite = !resume;
    if (resume) options.resume = "auto";
    return train(config(name, more), options, seen_);
  }
  std::string hash(const Settings& more, bool resume = false) {
    return run("run", more, resume).summary.parameter_hash;
  }
  Settings from(const std::string& name) const {
    return {"distill.from=" + path(name), "distill.temperature=2", "distill.weight=0.7"};
  }
  std::string path(const std::string& name) const { return folder_ / name; }

  void expect_one_hash(const Settings& words) {
    std::string straight = hash(words);
    EXPECT_EQ(hash(words + Settings{"devices=2xcpu", "strategy=mirrored"}), straight);
    EXPECT_EQ(hash(words + Settings{"devices=4xcpu", "strategy=sharded"}), straight);
    hash(words + Settings{"steps=2"});
    EXPECT_EQ(hash(words + Settings{"devices=2xcpu"}, true), straight);
    EXPECT_THAT(seen_.warnings, Not(Contains(HasSubstr("distill"))));
  }

  fs::path folder_;
  TaughtRun seen_;
};

// The teacher has batch norm and averages; the student is of another kind.
TEST_F(Taught, ByImagesHasOneHash) {
  run("teacher", images + cnn + Settings{"ema.decay=0.9"});
  Settings words = images + mlp + Settings{"loss.label_smoothing=0.1"};
  expect_one_hash(words + from("teacher"));
  std::string taught = hash(words + from("teacher"));
  EXPECT_NE(hash(words), taught);
}

// The teacher reads the mixed samples themselves.
TEST_F(Taught, ByMixedImagesHasOneHash) {
  write_images(path("train"), 60);
  write_images(path("t10k"), 8);
  Settings files = {"data.name=idx", "data.path=" + folder_.string()};
  run("teacher", files + cnn);
  Settings words = files + mlp + from("teacher");
  Settings mixed = words + Settings{"data.augment.mixup=0.4", "data.augment.cutmix=1",
                                    "loss.label_smoothing=0.1"};
  expect_one_hash(mixed);
  EXPECT_NE(hash(words), hash(mixed));
}

TEST_F(Taught, ByTokensHasOneHash) {
  run("teacher", tokens + blocks + Settings{"model.name=llama", "adapt.lora.rank=2"});
  expect_one_hash(tokens + blocks + from("teacher") +
                  Settings{"model.name=gpt", "model.dropout=0.1", "loss.z_loss=0.001"});
}

TEST_F(Taught, SaysWhoTeachesAndKeepsItOutOfItsFiles) {
  run("teacher", images + cnn);
  std::string own = run("run", images + mlp + from("teacher")).summary.checkpoint;
  EXPECT_THAT(seen_.start.teacher, HasSubstr("cnn of "));
  EXPECT_THAT(seen_.start.teacher, HasSubstr("weight 0.7 at temperature 2"));
  int64_t parameters = seen_.start.parameters;
  std::string plain = run("plain", images + mlp).summary.checkpoint;
  EXPECT_EQ(seen_.start.parameters, parameters);
  EXPECT_EQ(seen_.start.teacher, "");
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
  run("other", images + cnn + Settings{"seed=12"});
  run("run", images + mlp + from("teacher"));
  Settings on = images + mlp + Settings{"steps=5"};
  EXPECT_THAT(message_of(Category::checkpoint, [&] { run("run", on + from("other"), true); }),
              HasSubstr("learns from a teacher with"));
  fs::rename(path("teacher"), path("moved"));
  run("run", on + from("moved"), true);
  EXPECT_THAT(seen_.warnings, Not(Contains(HasSubstr("distill"))));
  run("run", images + mlp + Settings{"steps=6"}, true);
  EXPECT_THAT(seen_.warnings, Contains(HasSubstr("distill.hash is auto, was")));
}

TEST_F(Taught, ByATeacherThatDoesNotFitIsRefused) {
  auto refusal = [&](Category category, const Settings& words) {
    return message_of(category, [&] { run("run", words); });
  };
  EXPECT_THAT(refusal(Category::checkpoint, images + mlp + from("nowhere")), HasSubstr("nowhere"));
  run("tokens", tokens + blocks + Settings{"model.name=gpt"});
  EXPECT_THAT(refusal(Category::data, images + mlp + from("tokens")),
              HasSubstr("was trained on tokens, but the data has images"));
  run("teacher", images + mlp);
  EXPECT_THAT(refusal(Category::data,
                      images + mlp + from("teacher") + Settings{"data.synthetic.classes=5"}),
              HasSubstr("was trained on 4 classes, but the data has 5"));
  EXPECT_THAT(refusal(Category::config,
                      images + mlp + from("teacher") + Settings{"data.synthetic.shape=[6,6,1]"}),
              HasSubstr("the teacher's model needs 'dense1.weight'"));
  EXPECT_THAT(refusal(Category::checkpoint,
                      images + mlp + from("teacher") + Settings{"distill.hash=0123456789abcdef"}),
              HasSubstr("distill.hash: 0123456789abcdef, but the weights of"));
  EXPECT_THAT(refusal(Category::config, images + mlp + from("teacher") + Settings{"loss.name=mse"}),
              HasSubstr("needs loss.name: cross_entropy or focal"));
}

// The teacher's own run may delete the checkpoint meanwhile, or write another in its place. One
// that is cut short is an error.
TEST_F(Taught, KeepsTheFileOpen) {
  std::string file = run("teacher", images + cnn).summary.checkpoint;
  RunSetup setup(config("run", images + mlp + from("teacher")), {}, seen_);
  auto make = [&] { TowerTrainer(setup.trainer_options(), setup.placement); };
  fs::rename(file, file + ".old");
  make();
  fs::resize_file(file + ".old", 4096);
  EXPECT_THAT(message_of(Category::checkpoint, make),
              HasSubstr(fs::path(file).filename().string()));
}

TEST_F(Taught, IsPlannedWithItsTeachersWeights) {
  run("teacher", images + cnn);
  auto weights = [&](const Settings& more) {
    PlanReport report = plan(config("run", images + mlp + more));
    for (const auto& [kind, bytes] : report.start.devices[0].planned_memory)
      if (kind == "weights") return bytes;
    return int64_t{0};
  };
  EXPECT_GT(weights(from("teacher")), weights({}) + 4 * 4 * 9);
}

}  // namespace
}  // namespace spire
