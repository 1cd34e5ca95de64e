// New runs that begin with the weights of a file (init), on any devices and processes.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/fail.h"
#include "engine/base/thread.h"
#include "engine/checkpoint/checkpoint_file.h"
#include "engine/data/dataset.h"
#include "engine/weights/files/weight_writers.h"
#include "engine/weights/names/name_table.h"
#include "models/model.h"
#include "tests/base/message_of.h"
#include "tests/process/ranks.h"
#include "tests/run/made_run.h"
#include "tests/weights/made_tensors.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// In the place of MadeRuns' table, with which runs diverge.
const Words features = {"data.name=synthetic",       "data.synthetic.kind=features",
                        "data.synthetic.shape=[3]",  "data.synthetic.classes=4",
                        "data.synthetic.samples=60", "data.synthetic.test_samples=12",
                        "optimizer.lr=0.05"};

// With a rate of 0 a run ends with the weights that it began with.
const Words kept = {"optimizer.lr=0", "steps=1"};

class InitialWeights : public testing::Test {
 protected:
  InitialWeights() { hash_ = train("source", {"steps=7"}).parameter_hash; }

  Words from(const std::string& what, const Words& more = {}) const {
    return Words{"init.from=" + (runs_ / what).string()} + more;
  }
  RunSummary train(const std::string& name, const Words& words) const {
    return runs_.train(name, features + words).summary;
  }
  std::string start_text(const Words& words) const {
    Recorder keeper;
    RunOptions options;
    options.overwrite = true;
    spire::train(parse_config({}, runs_.words("text", features + words)).config, options, keeper);
    return keeper.start.initial_weights;
  }
  std::string refusal(const Words& words) const {
    return message_of(Category::checkpoint, [&] { train("refused", words); });
  }
  // Writes the source's weights as safetensors.
  void write(const std::string& name, WeightNames names) const {
    TrainingState state = read_checkpoint(runs_ / "source/checkpoints/step_00000007.h5");
    RunConfig config = parse_config({}, runs_.words("source", features)).config;
    SampleSpec spec = sample_spec_from_text(state.data_spec);
    Graph graph =
        build_model(config.model, {}, {.columns = spec.columns, .classes = spec.classes}, false);
    write_safetensors(runs_ / name,
                      tensors_to_write(name_table(names, config.model, graph), state));
  }

  MadeRuns runs_;
  std::string hash_;  // of the source's weights
};

TEST_F(InitialWeights, AreTheFiles) {
  EXPECT_NE(train("random", kept).parameter_hash, hash_);
  EXPECT_EQ(train("run", from("source", kept)).parameter_hash, hash_);
  EXPECT_EQ(train("file", from("source/checkpoints/step_00000007.h5", kept)).parameter_hash, hash_);
  for (WeightNames names : {WeightNames::spire, WeightNames::pytorch}) {
    std::string name = fmt::format("{}.safetensors", static_cast<int>(names));
    write(name, names);
    EXPECT_EQ(train("tensors", from(name, kept)).parameter_hash, hash_);
  }
  EXPECT_THAT(start_text(from("source", kept)), StartsWith("4 tensors of "));
  EXPECT_EQ(start_text(kept), "");
}

// Of a run that diverged, in each of the files that weights come from.
TEST_F(InitialWeights, AreFinite) {
  TrainingState state = read_checkpoint(runs_ / "source/checkpoints/step_00000007.h5");
  for (float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    state.weights[1].values[2] = bad;
    write_checkpoint(runs_ / "bad.h5", state);
    write_safetensors(runs_ / "bad.safetensors", to_write(state.weights),
                      {.existing = Existing::replace});
    std::string words = fmt::format("{} has a number that is not finite: element 2 is {}",
                                    state.weights[1].name, std::isnan(bad) ? "nan" : "-inf");
    EXPECT_THAT(refusal(from("bad.h5")), HasSubstr("bad.h5: " + words));
    EXPECT_THAT(refusal(from("bad.safetensors")), HasSubstr("bad.safetensors: " + words));
    EXPECT_THAT(refusal({"distill.from=" + (runs_ / "bad.h5").string()}), HasSubstr(words));
  }
}

// Step 0, with a new optimizer and a new schedule: as from the same weights in any other form.
TEST_F(InitialWeights, BeginANewRun) {
  write("w.safetensors", WeightNames::spire);
  RunSummary a = train("a", from("source", {"steps=5"}));
  EXPECT_EQ(a.parameter_hash, train("b", from("w.safetensors", {"steps=5"})).parameter_hash);
  EXPECT_NE(a.parameter_hash, train("on", {"steps=12"}).parameter_hash);
  EXPECT_EQ(read_checkpoint(runs_ / "a/checkpoints/step_00000005.h5").optimizer_steps, 5);
}

TEST_F(InitialWeights, GiveTheSameBitsOnAnyDevicesAndProcesses) {
  Words words = from("source", {"ema.decay=0.9", "init.skip=dense2.*"});
  RunSummary one = train("one", words);
  for (const char* devices : {"2xcpu", "3xcpu"}) {
    for (const char* strategy : {"mirrored", "sharded"}) {
      RunSummary more = train("more", words + Words{fmt::format("devices={}", devices),
                                                    fmt::format("strategy={}", strategy)});
      EXPECT_EQ(more.parameter_hash, one.parameter_hash) << devices << " " << strategy;
      EXPECT_EQ(more.ema_hash, one.ema_hash) << devices << " " << strategy;
    }
  }
  auto worlds = threads_world(2, {.cores = allowed_cores(), .on_exit_timeout = {}});
  RunSummary two;
  run_ranks(2, [&](int rank) {
    Observer silent;
    RunOptions options;
    options.world = worlds[static_cast<size_t>(rank)].get();
    RunConfig config = parse_config({}, runs_.words("two", features + words)).config;
    RunSummary own = spire::train(config, options, silent).summary;
    if (rank == 0) two = own;
  });
  EXPECT_EQ(two.parameter_hash, one.parameter_hash);
  EXPECT_EQ(two.ema_hash, one.ema_hash);
}

TEST_F(InitialWeights, AreWhereAveragesBegin) {
  RunSummary run = train("ema", from("source", kept + Words{"ema.decay=0.5"}));
  EXPECT_EQ(run.parameter_hash, hash_);
  EXPECT_EQ(run.ema_hash, hash_);
}

// Averaged weights are what evaluations and predictions use of a checkpoint.
TEST_F(InitialWeights, AreTheAveragesOfARunThatHasThem) {
  RunSummary averaged = train("averaged", {"steps=7", "ema.decay=0.5"});
  EXPECT_EQ(train("next", from("averaged", kept)).parameter_hash, averaged.ema_hash);
}

TEST_F(InitialWeights, AResumedRunHasItsOwn) {
  std::string straight = train("straight", from("source", {"steps=6"})).parameter_hash;
  train("parts", from("source", {"steps=3"}));
  Words gone = from("nowhere", {"steps=6"});
  EXPECT_EQ(runs_.resume("parts", features + gone).summary.parameter_hash, straight);
}

// Skipped and unlike parameters have the values of a run without init.
TEST_F(InitialWeights, OthersStartAtRandom) {
  Words but_one = {"init.skip=[dense1.*, dense2.bias]"};
  std::string one = train("one", from("source", kept + but_one)).parameter_hash;
  EXPECT_NE(one, hash_);
  EXPECT_NE(one, train("random", kept).parameter_hash);
  // Of two skipped runs the random weights are equal, whatever file the others came from.
  EXPECT_EQ(train("again", from("one", kept + but_one)).parameter_hash, one);
  std::string wider =
      start_text(from("source", kept + Words{"model.hidden=[16, 8]", "init.strict=false"}));
  EXPECT_THAT(wider, HasSubstr("; new: "));
  EXPECT_THAT(wider, HasSubstr("dense2.weight (8, 16) where the file has dense2.weight (4, 16)"));
  EXPECT_THAT(wider, HasSubstr("dense3.weight (4, 8)"));
}

// What no tensor shows: a checkpoint's config says it.
TEST_F(InitialWeights, MustBeOfAModelThatComputesTheSame) {
  Words tokens = {"data.name=synthetic",
                  "data.synthetic.kind=tokens",
                  "data.synthetic.shape=[6]",
                  "data.synthetic.classes=8",
                  "data.synthetic.samples=24",
                  "data.synthetic.test_samples=12",
                  "model.name=gpt",
                  "model.hidden=[]",
                  "model.blocks=1",
                  "model.width=8",
                  "optimizer.lr=0.05",
                  "steps=1"};
  runs_.train("gpt", tokens + Words{"model.heads=2"});
  Words from_gpt = tokens + from("gpt");
  EXPECT_NO_THROW(runs_.train("same", from_gpt + Words{"model.heads=2"}));
  EXPECT_THAT(message_of(Category::checkpoint,
                         [&] { runs_.train("other", from_gpt + Words{"model.heads=4"}); }),
              HasSubstr("model.heads is 2, but 4 in this run, which no tensor shows"));
  EXPECT_THAT(
      message_of(Category::checkpoint,
                 [&] {
                   runs_.train("other", from_gpt + Words{"model.heads=2", "model.epsilon=0.001"});
                 }),
      HasSubstr("model.epsilon is 1e-05, but 0.001"));
  EXPECT_NO_THROW(runs_.train("loose", from_gpt + Words{"model.heads=4", "init.strict=false"}));
}

TEST_F(InitialWeights, MustHaveTheLayersThatTheyWereTrainedWith) {
  auto layers = [](const char* middle) {
    return Words{
        "model.name=layers", "model.hidden=[]", "steps=1",
        fmt::format("model.layers=[{{dense: {{units: 5}}}}, {}, {{dense: {{units: classes}}}}]",
                    middle)};
  };
  train("relu", layers("relu"));
  EXPECT_NO_THROW(train("same", layers("relu") + from("relu")));
  EXPECT_THAT(
      message_of(Category::checkpoint, [&] { train("other", layers("tanh") + from("relu")); }),
      HasSubstr("layer 2 but dropout is [relu], but [tanh] in this run"));
  EXPECT_NO_THROW(train("skipped", layers("tanh") + from("relu", {"init.skip=2.dense.bias"})));
}

// A run's directory may have an export in it.
TEST_F(InitialWeights, AreTheRunsWhereAnExportLiesInIt) {
  write("source/model.safetensors", WeightNames::spire);
  EXPECT_THAT(start_text(from("source", kept)), HasSubstr("step_00000007.h5"));
  EXPECT_THAT(start_text(from("source/model.safetensors", kept)),
              HasSubstr("source/model.safetensors (spire names)"));
}

// trainer plan, and --check.
TEST_F(InitialWeights, AreLookedAtByAPlan) {
  auto planned = [&](const Words& words) {
    return plan(parse_config({}, runs_.words("plan", features + words)).config);
  };
  Words but_head = from("source", {"init.skip=dense2.*"});
  EXPECT_EQ(planned(but_head).start.initial_weights, start_text(but_head));
  EXPECT_THAT(to_text(planned(but_head)), HasSubstr("weights       2 tensors of "));
  EXPECT_EQ(planned({}).start.initial_weights, "");
  EXPECT_THAT(
      message_of(Category::checkpoint, [&] { planned(from("source", {"model.hidden=[8]"})); }),
      HasSubstr("of another shape: dense1.weight (8, 3) where the file has dense1.weight "
                "(16, 3)"));
  EXPECT_THAT(message_of(Category::checkpoint, [&] { planned(from("nowhere")); }),
              HasSubstr("nothing is there"));
  EXPECT_FALSE(std::filesystem::exists(runs_ / "plan"));
}

TEST_F(InitialWeights, ThatDoNotFitEndTheRunBeforeItWritesAnything) {
  EXPECT_THAT(refusal(from("source", {"model.hidden=[8]"})), HasSubstr("of another shape: "));
  EXPECT_THAT(refusal(from("nowhere")), HasSubstr("nothing is there"));
  EXPECT_FALSE(std::filesystem::exists(runs_ / "refused/checkpoints"));
  EXPECT_FALSE(std::filesystem::exists(runs_ / "refused/config.yaml"));
}

// Of a run of these words, as one text.
std::string warnings_of(const MadeRuns& runs, const Words& words) {
  Reports reports;
  runs.train("new", words, reports);
  return fmt::format("{}", fmt::join(reports.warnings, "\n"));
}

// Two tables of as many classes and columns, with other names.
TEST(InitialNames, OtherClassesAndColumnsSayWhatBecomesOfTheirLayers) {
  MadeRuns runs;
  auto table = [&](const std::string& name, const std::string& columns,
                   const std::string& classes) {
    std::filesystem::create_directories(runs / name);
    for (const char* part : {"train.csv", "test.csv"}) {
      std::ofstream file(runs / name / part);
      file << columns << ",y\n";
      for (int i = 0; i < 40; ++i) file << i % 7 << "," << i % 5 << "," << classes[i % 2] << "\n";
    }
    return Words{"data.path=" + (runs / name).string(), "data.csv.task=class", "steps=2"};
  };
  runs.train("source", table("one", "a,b", "pq"));
  Words from = {"init.from=" + (runs / "source").string()};
  EXPECT_THAT(warnings_of(runs, table("one", "a,b", "pq") + from),
              testing::Not(HasSubstr("init.from")));
  Words other = table("other", "a,b", "rs");
  EXPECT_THAT(warnings_of(runs, other + from),
              HasSubstr("init.from: the checkpoint has as many classes as the data, under other "
                        "names or in another order: 'p', 'q' there, 'r', 's' here; the weights of "
                        "dense2.* are reused, one for the other in this order; init.skip: "
                        "['dense2.*'] starts them anew"));
  EXPECT_THAT(warnings_of(runs, other + from + Words{"init.skip=[dense2.*]"}),
              HasSubstr("'r', 's' here; the weights of dense2.* start anew"));
  EXPECT_THAT(warnings_of(runs, table("columns", "a,c", "pq") + from),
              HasSubstr("as many columns as the data, under other names or in another order: 'a', "
                        "'b' there, 'a', 'c' here; the weights of dense1.* are reused"));
}

// Two texts of as many characters, of which each vocabulary has two that the other lacks.
TEST(InitialNames, OtherCharactersSayWhatBecomesOfTheirEmbeddings) {
  MadeRuns runs;
  auto text = [&](const std::string& name, const std::string& characters) {
    std::ofstream file(runs / name);
    for (int i = 0; i < 400; ++i) file << characters[i % characters.size()];
    return Words{"data.name=tokens",
                 "data.tokens.text=" + (runs / name).string(),
                 "data.tokens.vocabulary=characters",
                 "data.tokens.length=8",
                 "data.path=auto",
                 "model.name=gpt",
                 "model.width=8",
                 "model.blocks=1",
                 "model.heads=1",
                 "steps=1"};
  };
  runs.train("source", text("one", "abcd"));
  Words from = {"init.from=" + (runs / "source").string()};
  EXPECT_THAT(warnings_of(runs, text("one", "abcd") + from), testing::Not(HasSubstr("init.from")));
  Words other = text("other", "abyz");
  EXPECT_THAT(warnings_of(runs, other + from),
              HasSubstr("init.from: the checkpoint's vocabulary has as many tokens as the data's, "
                        "but 2 of 4 are others: the first, 2, is 'c' there, 'y' here; the weights "
                        "of tokens.* are reused, those of one token for another; init.skip: "
                        "['tokens.*'] starts them anew"));
  EXPECT_THAT(warnings_of(runs, other + from + Words{"init.skip=[tokens.*]"}),
              HasSubstr("'y' here; the weights of tokens.* start anew"));
}

}  // namespace
}  // namespace spire
