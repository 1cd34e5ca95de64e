// The chain of a run: the same however the run was computed, and whole or named where it is not.
#include <algorithm>
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/hash.h"
#include "engine/checkpoint/checkpoint_file.h"
#include "engine/run/audit/bit_keys.h"
#include "tests/tools/audit/audit_fixture.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Digest, IsBlake2bOf32Bytes) {  // as hashlib.blake2b(b"abc", digest_size=32)
  EXPECT_EQ(digest({"a", "", "bc"}),
            "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

TEST(Chain, ALineSplitsIntoItsParts) {
  std::string line = R"({"step":1})", value;
  chain_line(line, value);
  auto parts = split_chained(line.substr(0, line.size() - 1));
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->text, R"({"step":1})");
  EXPECT_EQ(parts->value, value);
  EXPECT_EQ(value, next_value("", R"({"step":1})"));
  EXPECT_FALSE(split_chained(R"({"step":1})"));
}

TEST(Chain, ARecordIsReadBackToTheLastBit) {
  AuditRecord record{.step = 3,
                     .samples = 0xfedcba9876543210,
                     .lr = 0.1,
                     .loss = 1.0 / 3,
                     .grad_norm = std::numeric_limits<double>::infinity(),
                     .left_out = true,
                     .towers = {1e-300, 2, std::numeric_limits<double>::quiet_NaN()},
                     .weights = {1, 2}};
  std::string text, again;
  append_text(record, text);
  auto read = parse_audit_record(text);
  ASSERT_TRUE(read);
  append_text(*read, again);
  EXPECT_EQ(text, again);
  EXPECT_EQ(read->loss, record.loss);
  EXPECT_EQ(read->weights, record.weights);
  for (const char* bad : {"", "[]", "{}", R"({"step":1})", R"({"step":1,"samples":"xyz"})"})
    EXPECT_FALSE(parse_audit_record(bad)) << bad;
}

TEST(Chain, WeightsAreHashedRarelyForLargeModels) {
  EXPECT_EQ(weights_interval({}, 270'000), 500);
  EXPECT_EQ(weights_interval({}, 7'000'000), 700);
  EXPECT_EQ(weights_interval({}, 30'000'000), 1000);
  EXPECT_EQ(weights_interval({.weights_every_steps = 7}, 30'000'000), 7);
}

// Stops after a number of steps.
class StopsAt : public Reports {
 public:
  StopsAt(int64_t step, std::atomic<bool>& stop) : step_(step), stop_(stop) {}
  void on_step(const StepReport& step) override {
    Reports::on_step(step);
    if (step.step == step_) stop_ = true;
  }

 private:
  int64_t step_;
  std::atomic<bool>& stop_;
};

class AuditChain : public testing::Test {
 protected:
  std::filesystem::path log(const std::string& name) const {
    return all.runs / name / "audit.jsonl";
  }
  std::vector<std::string> problems(const std::string& name) const {
    return all.auditor(name).check().problems;
  }
  // Stops the run there.
  RunResult train_five_steps(const std::string& name) const {
    std::atomic<bool> stop = false;
    StopsAt stops(5, stop);
    RunOptions options;
    options.stop = &stop;
    return all.runs.train(name, all.words(), stops, options);
  }

  AuditedRuns all;
};

TEST_F(AuditChain, IsTheSameOnAnyDevicesByAnyStrategy) {
  RunResult one = all.train("one");
  EXPECT_EQ(one.summary.chain.size(), digest_digits);
  for (const Words& more : {Words{"devices=2xcpu"}, Words{"devices=3xcpu", "strategy=sharded"},
                            Words{"devices=4xcpu", "strategy=mirrored"}}) {
    EXPECT_EQ(all.train("other", more).summary.chain, one.summary.chain);
    EXPECT_EQ(lines_of(log("other")), lines_of(log("one")));
  }
  EXPECT_NE(all.train("other", {"seed=8"}).summary.chain, one.summary.chain);
  EXPECT_EQ(all.train("none", {"audit.chain=false"}).summary.chain, "");
  EXPECT_FALSE(std::filesystem::exists(log("none")));
}

TEST_F(AuditChain, GoesOnInAResumedRunAsIfItHadNotStopped) {
  RunResult whole = all.train("whole");
  EXPECT_EQ(train_five_steps("parts").summary.steps, 5);
  RunResult rest = all.runs.resume("parts", all.words({"devices=3xcpu"}));
  EXPECT_EQ(rest.summary.chain, whole.summary.chain);
  EXPECT_EQ(lines_of(log("parts")), lines_of(log("whole")));
  EXPECT_THAT(problems("parts"), IsEmpty());
}

// Values that are not used, those that auto finds, and speed.
const Words no_bit = {"cuda.graphs=false",  "cuda.tf32=true",         "cuda.attention=own",
                      "loss.huber_delta=3", "loss.focal_gamma=1",     "loss.name=cross_entropy",
                      "best.metric=auto",   "best.mode=max",          "ema.warmup=false",
                      "epochs=3",           "data.hdf5.cache_mib=32", "guard.window=50"};

TEST_F(AuditChain, IsTheSameWithKeysThatChangeNoBit) {
  std::string chain = all.train("one").summary.chain;
  for (const std::string& word : no_bit)
    EXPECT_EQ(all.train("b", {word}).summary.chain, chain) << word;
  EXPECT_NE(all.train("b", {"loss.label_smoothing=0.1"}).summary.chain, chain);
  EXPECT_NE(all.train("b", {"early_stop.patience=3", "eval.every_steps=4"}).summary.chain, chain);

  std::string of_table = all.runs.train("first", {}).summary.chain;
  for (const char* word : {"data.csv.task=auto", "data.csv.header=true", "data.csv.separator=comma",
                           "loss.name=mse", "loss.label_smoothing=0.1"})
    EXPECT_EQ(all.runs.train("other", {word}).summary.chain, of_table) << word;
  EXPECT_NE(all.runs.train("other", {"loss.name=huber"}).summary.chain, of_table);
}

TEST_F(AuditChain, HasNoRootMoreAndNoWarningForSuchKeysAfterAResumption) {
  all.train("whole");
  train_five_steps("parts");
  RunOptions options;
  options.resume = "auto";
  Reports rest;
  all.runs.train("parts", all.words(no_bit), rest, options);
  EXPECT_THAT(rest.warnings, testing::Not(testing::Contains(HasSubstr("will differ"))));
  EXPECT_EQ(lines_of(log("parts")), lines_of(log("whole")));
}

TEST(BitKeys, ACacheOfChunksIsNone) {
  RunConfig config = parse_config({}, {"data.name=hdf5"}).config;
  EXPECT_FALSE(BitKeys(config, {}).decide(*find_field("data.hdf5.cache_mib")));
  EXPECT_TRUE(BitKeys(config, {}).decide(*find_field("cuda.tf32")));
  EXPECT_FALSE(BitKeys(config, {.on_cpus = true}).decide(*find_field("cuda.tf32")));
}

TEST_F(AuditChain, HasAnotherRootWhereAResumedRunChanged) {
  all.train("a", {"steps=6"});
  all.runs.resume("a", all.words({"optimizer.lr=0.01"}));
  RunAuditor auditor = all.auditor("a");
  EXPECT_THAT(auditor.check().problems, IsEmpty());
  ASSERT_EQ(auditor.log().roots.size(), 2u);
  EXPECT_EQ(config_of(auditor.log().roots.at(0)).at("optimizer.lr"), "0.05");
  EXPECT_EQ(config_of(auditor.log().roots.at(6)).at("optimizer.lr"), "0.01");
  EXPECT_EQ(auditor.segment("0", 0).to, 12);  // with the second root's config from step 6 on
  EXPECT_TRUE(auditor.audit(auditor.segment("0", 0)).passed());
  EXPECT_TRUE(auditor.audit(auditor.segment("6", 0)).passed());
}

TEST_F(AuditChain, NamesAChangedLine) {
  all.train("a");
  std::vector<std::string> lines = lines_of(log("a"));
  std::string& fifth = lines.at(5);  // behind the root
  size_t at = fifth.find("\"loss\":") + 9;
  fifth[at] = fifth[at] == '1' ? '2' : '1';
  write_lines(log("a"), lines);
  EXPECT_THAT(problems("a"), testing::Contains(HasSubstr("step 5: its line was changed")));
  EXPECT_THAT(problems("a"), testing::Contains(HasSubstr("metrics.jsonl: step 5: loss")));
  EXPECT_EQ(problems("a").size(), 2u);
}

TEST_F(AuditChain, NamesARootThatNoReplayCanRead) {
  all.train("a");
  std::vector<std::string> lines = lines_of(log("a"));
  lines[0].replace(lines[0].find("\"device\":"), 9, "\"decive\":");
  write_lines(log("a"), lines);
  EXPECT_THAT(problems("a"),
              testing::Contains(HasSubstr("line 1: the root of step 0 lacks its config or its "
                                          "device")));
}

TEST(AuditData, CoversValidationData) {
  MadeRuns runs;
  std::filesystem::create_directories(runs / "val");
  for (const char* name : {"train.csv", "test.csv"})
    std::filesystem::copy_file(runs / "table" / name, runs / "val" / name);
  Words words = {"steps=2", "data.val.path=" + (runs / "val").string()};
  auto root = [&](const std::string& name) {
    runs.train(name, words);
    return data_of(read_audit_log(runs / name / "audit.jsonl").roots.at(0));
  };
  std::string before = root("a");
  EXPECT_EQ(root("same"), before);
  std::ofstream(runs / "val" / "test.csv", std::ios::app) << "1,2,0,0.5\n";
  EXPECT_NE(root("other"), before);
}

TEST_F(AuditChain, NamesADroppedLine) {
  all.train("a");
  const std::vector<std::string> whole = lines_of(log("a"));
  auto expect_problem = [&](std::vector<std::string> lines, const char* problem) {
    write_lines(log("a"), lines);
    EXPECT_THAT(problems("a"), testing::Contains(HasSubstr(problem)));
  };
  auto without = [&](size_t line) {
    std::vector<std::string> lines = whole;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(line));
    return lines;
  };
  expect_problem(without(7), "step 7 is missing");
  expect_problem(without(0), "the root is missing");
  expect_problem(without(whole.size() - 1),
                 "metrics.jsonl: step 12: audit.jsonl does not have this step");
  std::vector<std::string> broken = whole;
  broken[4] = "not JSON";
  expect_problem(broken, "line 5 is not a record");
}

TEST_F(AuditChain, NamesASwappedCheckpoint) {
  all.train("a");
  all.train("b", {"seed=8"});
  fs::path folder = all.runs / "a" / "checkpoints";
  auto replace = fs::copy_options::overwrite_existing;
  fs::copy_file(folder / "step_00000004.h5", all.runs / "kept.h5", replace);
  fs::copy_file(folder / "step_00000008.h5", folder / "step_00000004.h5", replace);
  EXPECT_THAT(problems("a"), ElementsAre("step_00000004.h5: is of step 8"));
  fs::copy_file(all.runs / "b" / "checkpoints/step_00000004.h5", folder / "step_00000004.h5",
                replace);
  EXPECT_THAT(problems("a"), ElementsAre(HasSubstr("step_00000004.h5: holds the chain value")));
  // A weight is changed, and all checksums are made to fit.
  TrainingState state = read_checkpoint(all.runs / "kept.h5");
  state.weights.at(1).values.at(0) += 1;
  write_checkpoint(folder / "step_00000004.h5", state);
  EXPECT_THAT(problems("a"), ElementsAre(HasSubstr("its weights " + state.weights[1].name)));
  fs::resize_file(folder / "step_00000004.h5", 1000);
  EXPECT_EQ(problems("a").size(), 1u);
}

TEST_F(AuditChain, ARunWithoutAChainIsAnError) {
  all.train("a", {"audit.chain=false"});
  EXPECT_THROW(all.auditor("a"), Error);
}

// A run that is resumed on other data says so, and by which files.
TEST(ChangedData, IsWarnedOfWhenARunGoesOn) {
  MadeRuns runs;
  runs.train("run", {"steps=4"});
  auto resume = [&](const char* steps) {
    Reports reports;
    RunOptions options;
    options.resume = "auto";
    runs.train("run", {steps}, reports, options);
    return fmt::format("{}", fmt::join(reports.warnings, "\n"));
  };
  EXPECT_THAT(resume("steps=6"), testing::Not(testing::HasSubstr("the data (")));
  std::string table = runs / "table/train.csv", text = content_of(table);
  text[text.rfind(',') - 1] ^= 1;  // another digit
  std::ofstream(table) << text;
  fs::last_write_time(table, fs::file_time_type::clock::now() + std::chrono::hours(1));
  std::string warning = resume("steps=8");
  expect_parts(warning, {"is not what it was at the checkpoint of step 6: changed "
                         "since then: '" +
                             table + "'; the run goes on with it",
                         "data.path " + (runs / "table").string()});
  EXPECT_THAT(resume("steps=10"), testing::Not(testing::HasSubstr("the data (")));
}

}  // namespace
}  // namespace spire
