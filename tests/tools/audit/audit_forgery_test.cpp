// Forged runs: what the audit of the files finds, and what only a replay does.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/sample.h"
#include "engine/observe/json_files.h"
#include "tests/tools/audit/forger.h"

namespace spire {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Json = Forger::Json;

class AuditForgery : public testing::Test {
 protected:
  std::vector<std::string> problems() const { return all.auditor("a").check().problems; }
  SegmentAudit replay(const std::string& from) const {
    RunAuditor auditor = all.auditor("a");
    return auditor.audit(auditor.segment(from, 0));
  }
  // The files that forger writes show it.
  void expect_problem(const std::string& problem) {
    forger.write();
    EXPECT_THAT(problems(), Contains(HasSubstr(problem)));
  }
  // Nothing shows in the files that forger writes, and the replay from there names a number of a
  // step.
  void expect_replay_names(const std::string& from, int64_t step, const std::string& what) {
    forger.write();
    EXPECT_THAT(problems(), IsEmpty());
    SegmentAudit audit = replay(from);
    ASSERT_TRUE(audit.difference);
    EXPECT_EQ(audit.difference->step, step) << to_text(audit);
    EXPECT_THAT(audit.difference->tensor, HasSubstr(what));
    EXPECT_FALSE(audit.replays);
  }
  // In the configs of the checkpoints behind a step.
  void replace_in_configs(int64_t step, const std::string& text, const std::string& other) {
    for (auto& [at_step, state] : forger.checkpoints) {
      if (at_step <= step) continue;
      size_t at = state.config_yaml.find(text);
      ASSERT_NE(at, std::string::npos);
      state.config_yaml.replace(at, text.size(), other);
    }
  }
  void write_summary(RunSummary changed) {
    changed.output = (all.runs / "a").string();
    std::ofstream(all.runs / "a" / "summary.json") << summary_json(changed);
  }

  AuditedRuns all;
  RunSummary summary = all.train("a", {"eval.every_steps=4"}).summary;
  Forger forger{all.runs / "a"};
};

TEST_F(AuditForgery, WhatIsWrittenAgainAsItWasPasses) {
  std::vector<std::string> lines = lines_of(all.runs / "a" / "audit.jsonl");
  forger.write();
  EXPECT_EQ(lines_of(all.runs / "a" / "audit.jsonl"), lines);
  write_summary(summary);
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_TRUE(replay("0").passed()) << to_text(replay("0"));
}

// A root behind each first step of a segment, so that replays that stop at roots see nothing else.
TEST_F(AuditForgery, RootsBehindEachCheckpointHideNoStep) {
  Json root = forger.root(0)["root"];
  for (int64_t step : {1, 5, 9}) forger.add_root(step, root);
  forger.write();
  SegmentAudit whole = replay("4");
  EXPECT_TRUE(whole.passed()) << to_text(whole);
  EXPECT_EQ(whole.segment.to, 12);
  forger.record(7)["grad_norm"] = 0.25;
  forger.line(7, "train/loss")["train/grad_norm"] = 0.25;
  expect_replay_names("4", 7, "norm of the gradient");
}

TEST_F(AuditForgery, ARootOnTheWayHasTheWeightsOfItsStep) {
  Json root = forger.root(0)["root"];
  forger.add_root(6, root);
  std::string weights = forger.root(6)["weights"];
  weights[0] = weights[0] == '0' ? '1' : '0';
  forger.root(6)["weights"] = weights;
  expect_replay_names("4", 6, "weights ");
}

TEST_F(AuditForgery, ARootOnTheWayIsTheConfigBehindIt) {
  Json root = forger.root(0)["root"];
  root["config"]["optimizer.momentum"] = "0.5";
  forger.add_root(5, root);
  replace_in_configs(5, "momentum: 0.9", "momentum: 0.5");
  expect_replay_names("4", 6, "weights ");
}

TEST_F(AuditForgery, ARootThatLiesAboutDropout) {
  forger.root(0)["root"]["config"]["model.dropout"] = "0.5";
  expect_problem("its config has model.dropout: 0.25, and the chain's root 0.5");
  replace_in_configs(0, "dropout: 0.25", "dropout: 0.5");
  expect_replay_names("0", 1, "loss");
}

TEST_F(AuditForgery, ARootThatLeavesAKeyOut) {
  forger.root(0)["root"]["config"].erase("data.augment.flip");
  forger.write();
  SegmentAudit audit = replay("8");
  EXPECT_FALSE(audit.difference);
  EXPECT_FALSE(audit.passed());
  EXPECT_THAT(audit.root.differences, ElementsAre(HasSubstr("config data.augment.flip: null")));
}

TEST_F(AuditForgery, ARootThatLiesAboutData) {
  forger.root(0)["root"]["data"] = std::string(digest_digits, '0');
  forger.write();
  SegmentAudit audit = replay("8");
  EXPECT_FALSE(audit.passed());
  EXPECT_THAT(audit.root.differences, ElementsAre(HasSubstr("data: \"0000")));
  EXPECT_THAT(to_text(audit), HasSubstr("equal, 4 steps, but the chain's root says that config or "
                                        "data were others"));
}

TEST_F(AuditForgery, HashesOfWeightsThatWereTakenOut) {
  forger.record(7).erase("weights");
  expect_problem("audit.jsonl: step 7: the hashes of its weights are missing");
}

TEST_F(AuditForgery, AMetricOfValidation) {
  double& recorded = forger.checkpoints.at(4).evaluated_metric;
  forger.line(4, "val/loss")["val/accuracy"] = 0.875;
  expect_problem(
      "metrics.jsonl: evaluation of step 4: accuracy 0.875, and the checkpoint of step 4 has");
  recorded = 0.875;
  for (auto& [step, state] : forger.checkpoints)
    if (state.best_metric < 0.875) {
      state.best_metric = 0.875;
      state.best_step = 4;
    }
  forger.write();
  summary.val.best = std::max(summary.val.best, 0.875);
  write_summary(summary);
  expect_replay_names("0", 4, "val/accuracy");
}

TEST_F(AuditForgery, AnEvaluationThatWasTakenOut) {
  std::erase_if(forger.metrics,
                [](const Json& line) { return line["step"] == 4 && line.contains("val/loss"); });
  expect_problem("the evaluation of step 4 is missing");
  forger.checkpoints.at(4).evaluated_step = -1;
  for (auto& [step, state] : forger.checkpoints)
    if (state.best_step == 4) state.best_step = -1;
  forger.write();
  SegmentAudit audit = replay("0");
  ASSERT_TRUE(audit.difference);
  EXPECT_EQ(audit.difference->tensor, "the evaluation");
}

TEST_F(AuditForgery, AMetricOfTraining) {
  forger.line(6, "train/loss")["train/accuracy"] = 1;
  expect_replay_names("4", 6, "train/accuracy");
}

TEST_F(AuditForgery, AHashOfWeightsInMetrics) {
  forger.line(6, "train/loss")["train/parameter_hash"] = "0123456789abcdef";
  expect_replay_names("4", 6, "train/parameter_hash");
  forger.line(8, "train/loss")["train/parameter_hash"] = "0123456789abcdef";
  expect_problem("metrics.jsonl: step 8: the weights' hash is 0123");
}

TEST_F(AuditForgery, SamplesSeenAndLearningRates) {
  forger.line(6, "train/loss")["samples_seen"] = 1000;
  expect_replay_names("4", 6, "samples_seen");
  forger.line(6, "train/loss")["train/lr"] = 0.5;
  expect_problem("metrics.jsonl: step 6: learning rate 0.5, and audit.jsonl has 0.05");
}

TEST_F(AuditForgery, SecondAndRemovedLines) {
  std::vector<Json> whole = forger.metrics;
  forger.metrics.push_back(forger.line(6, "train/loss"));
  forger.metrics.push_back(forger.line(4, "val/loss"));
  expect_problem("metrics.jsonl: step 6 has a second line of training");
  EXPECT_THAT(problems(), Contains("metrics.jsonl: step 4 has a second line of validation"));
  forger.metrics = whole;
  std::erase_if(forger.metrics, [](const Json& line) {
    return (line["step"] == 6 || line["step"] == 7) && line.contains("train/loss");
  });
  forger.write();
  EXPECT_THAT(problems(), ElementsAre("metrics.jsonl: 2 lines are missing, the first of step 6"));
}

TEST_F(AuditForgery, ASummary) {
  auto expect = [&](const RunSummary& changed, const std::string& problem) {
    write_summary(changed);
    EXPECT_THAT(problems(), ElementsAre(HasSubstr("summary.json: " + problem)));
  };
  RunSummary changed = summary;
  changed.chain = std::string(digest_digits, 'a');
  expect(changed, "chain aaaa");
  changed = summary;
  changed.parameter_hash = "0123456789abcdef";
  expect(changed, "parameter_hash 0123456789abcdef, and the weights of step 12 have");
  changed = summary;
  changed.val.loss = 0;
  expect(changed, "val loss 0, and metrics.jsonl has");
  changed = summary;
  changed.val.best = 2;
  expect(changed, "best_accuracy 2, and the last checkpoint has");
  changed = summary;
  changed.steps = 13;
  expect(changed, "audit.jsonl does not have step 13");
  changed = summary;
  changed.test = TestSummary{.loss = 0, .metric = summary.val.metric, .step = 12};
  expect(changed, "test, of which metrics.jsonl has no line");
}

TEST_F(AuditForgery, NumbersThatARunCannotHave) {
  forger.line(8, "val/loss")["val/auc"] = 0.99;
  expect_replay_names("4", 8, "val/auc");
  forger.line(6, "train/loss")["train/top5"] = 1;
  expect_replay_names("4", 6, "train/top5");
  forger.record(7)["accuracy"] = 1;
  expect_problem("is not a record of a step");
}

TEST_F(AuditForgery, ARootThatPromisesFewerHashes) {
  forger.root(0)["root"]["weights_every_steps"] = 1000;
  for (int64_t step = 1; step <= 12; ++step) forger.record(step).erase("weights");
  expect_problem("its config has audit.weights_every_steps: 1, and the chain's root 1000");
}

TEST_F(AuditForgery, ASummaryOfOtherDataOrNone) {
  RunSummary changed = summary;
  changed.val.held_out = true;
  write_summary(changed);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("val is of data 'validation', and there is no")));
  changed = summary;
  changed.val.measured = false;
  write_summary(changed);
  EXPECT_THAT(problems(), ElementsAre("summary.json: val is null, and metrics.jsonl has an "
                                      "evaluation"));
  std::filesystem::remove(all.runs / "a" / "summary.json");
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("summary.json: is missing")));
}

TEST_F(AuditForgery, NamesOfClassesInACheckpoint) {
  auto rename = [&](TrainingState& state) {
    SampleSpec spec = sample_spec_from_text(state.data_spec);
    spec.class_names.assign(static_cast<size_t>(spec.classes), "");
    for (size_t i = 0; i < spec.class_names.size(); ++i)
      spec.class_names[i] = fmt::format("forged {}", i);
    state.data_spec = to_text(spec);
  };
  rename(forger.checkpoints.at(8));
  forger.write();
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("step_00000008.h5: its columns or names of classes "
                                                "are not those of the chain's root")));
  for (int64_t step : {4, 12}) rename(forger.checkpoints.at(step));
  forger.root(0)["root"]["spec"] = digest({forger.checkpoints.at(4).data_spec});
  forger.write();
  EXPECT_THAT(problems(), IsEmpty());
  SegmentAudit audit = replay("0");
  EXPECT_FALSE(audit.passed());
  EXPECT_THAT(audit.root.differences, ElementsAre(HasSubstr("spec: ")));
  ASSERT_TRUE(audit.difference);
  EXPECT_EQ(audit.difference->tensor, "description of the data");
}

TEST_F(AuditForgery, CountersOfACheckpoint) {
  forger.checkpoints.at(8).samples_seen += 1;
  expect_replay_names("4", 8, "samples_seen");
  forger.checkpoints.at(8).parameter_hash = "0123456789abcdef";
  expect_problem("says that the hash of its weights is 0123");
}

TEST_F(AuditForgery, ABestEvaluationThatIsNone) {
  for (int64_t step : {4, 8, 12}) {
    double accuracy = step == 8 ? 0.75 : 0.25;
    forger.line(step, "val/loss")["val/accuracy"] = accuracy;
    forger.checkpoints.at(step).evaluated_metric = accuracy;
    forger.checkpoints.at(step).best_metric = 0.25;
    forger.checkpoints.at(step).best_step = 4;
  }
  expect_problem(
      "the checkpoint of step 8: its best evaluation is of step 4, and that of step 8 is better");
}

}  // namespace
}  // namespace spire
