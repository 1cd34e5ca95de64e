// Checks an image of the test data that cannot be read: the run ends and loses no training.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/fail.h"
#include "engine/data/images/png.h"
#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// 24 training and 6 test images of 16 x 16 in two classes: an epoch has 3 steps.
class CorruptImage : public testing::Test {
 protected:
  CorruptImage() {
    for (int i = 0; i < 12; ++i)
      for (const char* name : {"dark", "light"})
        write_good(fmt::format("train/{}/{:02}.png", name, i), i);
    for (int i = 0; i < 3; ++i)
      for (const char* name : {"dark", "light"})
        write_good(fmt::format("val/{}/{:02}.png", name, i), i);
  }

  fs::path image(const std::string& name) const { return folder_ / "images" / name; }

  void write_good(const std::string& name, int number) const {
    fs::create_directories(image(name).parent_path());
    PngImage made{16, 16, 3, std::vector<uint8_t>(16 * 16 * 3)};
    int light = name.find("light") == name.npos ? 0 : 120;
    for (size_t p = 0; p < made.pixels.size(); ++p)
      made.pixels[p] = static_cast<uint8_t>(light + number * 7 + static_cast<int>(p * 31 % 60));
    write_png(image(name), made);
  }

  Words words(const std::string& name, const Words& more) const {
    return Words{"data.name=image_folder",
                 "data.path=" + (folder_ / "images").string(),
                 "data.image.size=16",
                 "output=" + (folder_ / name).string(),
                 "batch_size=4",
                 "towers=2",
                 "tower_threads=1",
                 "devices=cpu:1",
                 "epochs=2",
                 "model.name=mlp",
                 "model.hidden=[8]",
                 "ema.decay=0.9"} +
           more;
  }

  int evaluations_of(const std::string& name, int64_t step) const {
    int count = 0;
    for (const Json& line : folder_.metrics(name))
      if (line.contains("val/loss") && line["step"] == step) ++count;
    return count;
  }

  RunFolder folder_;
};

void cut(const fs::path& path) {
  fs::resize_file(path, fs::file_size(path) / 2);
}
void empty(const fs::path& path) {
  fs::resize_file(path, 0);
}
void replace(const fs::path& path) {
  std::ofstream(path) << "no image";
}

struct Case {
  const char* name;
  void (*spoil)(const fs::path&);
  Words more;
  int64_t saved;  // the step of the first evaluation
};

class FailedEvaluation : public CorruptImage, public testing::WithParamInterface<Case> {};

TEST_P(FailedEvaluation, LeavesACheckpointFromWhichItIsRepeated) {
  const auto& [name, spoil, more, saved] = GetParam();
  Output whole = trainer(words("whole", more));
  ASSERT_EQ(whole.code, 0) << whole.err;

  spoil(image("val/light/01.png"));
  Output failed = trainer(words("run", more));
  EXPECT_EQ(failed.code, 4) << failed.err;
  EXPECT_THAT(failed.last_error_line(), HasSubstr("val/light/01.png"));
  EXPECT_THAT(failed.last_error_line(), HasSubstr("data.on_error: skip"));
  EXPECT_THAT(failed.err, HasSubstr(fmt::format("the state after step {} was saved", saved)));
  EXPECT_THAT(failed.err, Not(HasSubstr("idle")));
  EXPECT_EQ(folder_.checkpoints("run"), std::vector<int64_t>{saved});
  EXPECT_EQ(evaluations_of("run", saved), 0);

  Output again = trainer(words("run", more + Words{"--resume", "auto"}));
  EXPECT_EQ(again.code, 4) << "the evaluation is repeated: " << again.err;
  EXPECT_EQ(folder_.checkpoints("run"), std::vector<int64_t>{saved});

  write_good("val/light/01.png", 1);
  Output resumed = trainer(words("run", more + Words{"--resume", "auto"}));
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(printed_hash(resumed), printed_hash(whole));
  EXPECT_EQ(evaluations_of("run", saved), 1);
  EXPECT_EQ(curve(folder_.metrics("run")), curve(folder_.metrics("whole")));
  EXPECT_EQ(folder_.summary("run")["val"], folder_.summary("whole")["val"]);
}

INSTANTIATE_TEST_SUITE_P(
    Run, FailedEvaluation,
    testing::Values(
        Case{"Cut", cut, {}, 3}, Case{"Empty", empty, {}, 3}, Case{"NoImage", replace, {}, 3},
        Case{"InTheMiddleOfAnEpoch", replace, {"eval.every_steps=2"}, 2},
        Case{"WithoutOtherCheckpoints", cut, {"checkpoint.every_epochs=0"}, 3},
        Case{"AtTheEndAlone", cut, {"eval.every_epochs=0", "checkpoint.every_epochs=0"}, 6},
        Case{"InTwoProcesses", cut, {"--processes", "2"}, 3},
        Case{"Sharded", cut, {"devices=cpu:2", "strategy=sharded"}, 3}),
    [](const auto& test) { return test.param.name; });

TEST_F(CorruptImage, MayBeLeftOut) {
  cut(image("val/light/01.png"));
  Output output = trainer(words("run", {"data.on_error=skip"}));
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr("1 broken sample left out; the first: "));
}

TEST_F(CorruptImage, InTrainingDataEndsTheRunWithTheKeyThatSkipsIt) {
  empty(image("train/dark/03.png"));
  Output output = trainer(words("run", {}));
  EXPECT_EQ(output.code, 4) << output.err;
  EXPECT_THAT(output.last_error_line(), HasSubstr("train/dark/03.png"));
  EXPECT_THAT(output.last_error_line(), HasSubstr("data.on_error: skip"));
}

TEST_F(CorruptImage, IsFoundByADeepCheckWithAllOthers) {
  Output good = trainer(words("run", {"--check", "--deep"}));
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("train  24 samples, 0 bad"));
  cut(image("train/dark/03.png"));
  empty(image("train/light/11.png"));
  replace(image("val/light/01.png"));
  EXPECT_EQ(trainer(words("run", {"--check"})).code, 0);
  Output bad = trainer(words("run", {"--check", "--deep"}));
  EXPECT_EQ(bad.code, 4);
  for (const char* text : {"train/dark/03.png", "train/light/11.png", "val/light/01.png",
                           "train  24 samples, 2 bad", "test   6 samples, 1 bad"})
    EXPECT_THAT(bad.out, HasSubstr(text));
  EXPECT_THAT(bad.last_error_line(), HasSubstr("error[4]: the dataset has 3 bad samples"));
  EXPECT_THAT(bad.last_error_line(), HasSubstr("data.on_error: skip"));
  Output skipped = trainer(words("run", {"--check", "--deep", "data.on_error=skip"}));
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  EXPECT_THAT(skipped.out, HasSubstr("train/light/11.png"));
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(CorruptImage, CannotBeSkippedWhereAllAreCorrupt) {
  for (int i = 0; i < 3; ++i)
    for (const char* name : {"dark", "light"})
      empty(image(fmt::format("val/{}/{:02}.png", name, i)));
  Output output = trainer(words("run", {"--check", "--deep", "data.on_error=skip"}));
  EXPECT_EQ(output.code, 4) << output.out;
  EXPECT_THAT(output.last_error_line(), HasSubstr("6 bad samples"));
}

TEST_F(CorruptImage, DeepNeedsCheck) {
  Output output = trainer(words("run", {"--deep"}));
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.last_error_line(), HasSubstr("--check"));
}

}  // namespace
}  // namespace spire
