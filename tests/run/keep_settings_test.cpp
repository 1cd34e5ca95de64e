// What of its batch a resumed run keeps, and what it refuses.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/config/check.h"
#include "engine/config/text.h"
#include "engine/run/resume.h"
#include "tests/base/message_of.h"
#include "tests/run/recorder.h"

namespace spire {
namespace {

using testing::HasSubstr;

class KeptBatch : public testing::Test {
 protected:
  // A checkpoint of a run with these settings.
  static LoadedCheckpoint saved(const Words& settings) {
    RunConfig config = parse_config({}, settings).config;
    settle_batch(config, 1);
    LoadedCheckpoint checkpoint;
    checkpoint.path = "step.h5";
    checkpoint.state.seed = config.seed;
    checkpoint.state.towers = *config.towers;
    checkpoint.state.batch_size = config.batch_size;
    checkpoint.state.config_yaml = to_yaml(config);
    return checkpoint;
  }

  // "towers x batch_size = global_batch" of a run of `settings` that goes on from it.
  std::string resumed(const LoadedCheckpoint& checkpoint, const Words& settings,
                      bool evaluates = false) {
    ResolvedConfig resolved = parse_config({}, settings);
    RunOptions options;
    options.defaulted_keys = defaulted_keys(resolved);
    options.evaluates = evaluates;
    RunConfig config = resolved.config;
    keep_settings(checkpoint, options, config, heard_);
    return fmt::format("{} x {} = {}", *config.towers, config.batch_size, *config.global_batch);
  }
  std::string refusal(const LoadedCheckpoint& checkpoint, const Words& settings) {
    return message_of(Category::config, [&] { resumed(checkpoint, settings); });
  }

  Recorder heard_;
};

TEST_F(KeptBatch, IsTheRunsWhereItIsLeftOut) {
  for (const Words& run : {Words{"towers=4", "batch_size=32"},
                           Words{"towers=4", "global_batch=128", "precision=exact"}}) {
    LoadedCheckpoint checkpoint = saved(run);
    Words precision(run.begin() + 2, run.end());
    EXPECT_EQ(resumed(checkpoint, precision), "4 x 32 = 128");
    EXPECT_EQ(resumed(checkpoint, precision + Words{"batch_size=auto"}), "4 x 32 = 128");
    EXPECT_EQ(resumed(checkpoint, run), "4 x 32 = 128");
  }
  EXPECT_THAT(heard_.warnings, testing::IsEmpty());
}

TEST_F(KeptBatch, MayBeUneven) {
  for (const char* precision : {"precision=fp32", "precision=exact"}) {
    Words run = {"towers=3", "global_batch=128", precision};
    LoadedCheckpoint checkpoint = saved(run);
    EXPECT_EQ(resumed(checkpoint, {precision}), "3 x 43 = 128");
    EXPECT_EQ(resumed(checkpoint, run), "3 x 43 = 128");
    EXPECT_EQ(resumed(checkpoint, {precision, "batch_size=43", "towers=3"}), "3 x 43 = 128");
    EXPECT_THAT(refusal(checkpoint, {precision, "towers=3", "global_batch=129"}),
                HasSubstr("global_batch: 129, but the run of step.h5 has 128"));
  }
  EXPECT_THAT(heard_.warnings, testing::IsEmpty());
}

TEST_F(KeptBatch, OfOtherTowersIsRefused) {
  LoadedCheckpoint checkpoint = saved({"towers=4", "batch_size=32"});
  EXPECT_THAT(refusal(checkpoint, {"towers=2", "batch_size=64"}), HasSubstr("towers: 2, but the"));
  EXPECT_THAT(refusal(checkpoint, {"batch_size=64"}), HasSubstr("batch_size: 64, but the run of"));
  EXPECT_THAT(refusal(checkpoint, {"precision=exact", "towers=2"}), HasSubstr("towers: 2, but"));
  EXPECT_EQ(resumed(checkpoint, {"towers=2", "batch_size=64"}, true), "2 x 64 = 128");
}

// The same words again, as after a preemption, give the same split again.
TEST_F(KeptBatch, OfExactSumsIsDividedAmongOtherTowers) {
  Words exact = {"precision=exact"};
  LoadedCheckpoint checkpoint = saved(exact + Words{"towers=7", "batch_size=2"});
  struct Case {
    Words words;
    std::string split, warning;
  };
  for (const Case& c : {Case{{"towers=2"}, "2 x 7 = 14", ""}, Case{{"towers=3"}, "3 x 5 = 14", ""},
                        Case{{"towers=2", "batch_size=7"}, "2 x 7 = 14", ""},
                        Case{{"towers=3", "batch_size=2"}, "3 x 5 = 14", "batch_size is 5, not 2"},
                        Case{{"batch_size=7"}, "7 x 2 = 14", "batch_size is 2, not 7"}}) {
    heard_.warnings.clear();
    EXPECT_EQ(resumed(checkpoint, exact + c.words), c.split);
    if (c.warning.empty())
      EXPECT_THAT(heard_.warnings, testing::IsEmpty());
    else
      EXPECT_THAT(heard_.warnings, testing::ElementsAre(HasSubstr(c.warning)));
    if (c.words[0].starts_with("batch")) continue;
    LoadedCheckpoint next =
        saved(exact + Words{c.words[0], "global_batch=14"});  // of the run that went on
    EXPECT_EQ(resumed(next, exact + c.words), c.split);
    EXPECT_EQ(resumed(next, exact + Words{"towers=14"}), "14 x 1 = 14");
  }
  EXPECT_THAT(refusal(checkpoint, exact + Words{"towers=8"}),
              HasSubstr("14 samples leave 1 of 8 towers without any"));
}

// A program says with defaulted_keys which keys it did not set, or nothing.
TEST_F(KeptBatch, FollowsFromTheGlobalBatchOfAProgram) {
  for (const char* precision : {"precision=fp32", "precision=exact"}) {
    LoadedCheckpoint checkpoint = saved({"towers=3", "global_batch=128", precision});
    RunConfig config = parse_config({}, {precision}).config;
    config.global_batch = 128;
    keep_settings(checkpoint, {}, config, heard_);
    EXPECT_EQ(config.towers, 3);
    EXPECT_EQ(config.batch_size, 43);
  }
  EXPECT_THAT(heard_.warnings, testing::IsEmpty());
}

// Its config has a model that no config can name.
TEST_F(KeptBatch, OfAProgramsModelIsKnown) {
  LoadedCheckpoint checkpoint = saved({"towers=3", "global_batch=128"});
  std::string& yaml = checkpoint.state.config_yaml;
  yaml.replace(yaml.find("name: auto"), 10, "name: mine");
  EXPECT_EQ(resumed(checkpoint, {}), "3 x 43 = 128");
}

}  // namespace
}  // namespace spire
