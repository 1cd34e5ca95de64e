// Audits by replay: of runs as they were, and of runs in which one bit was flipped.
#include <algorithm>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/random_stream.h>

#include "engine/checkpoint/checkpoint_file.h"
#include "tests/long_tests.h"
#include "tests/tools/audit/audit_fixture.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(AuditRun, PassesFromAnyCheckpointOnOtherDevices) {
  AuditedRuns all;
  all.train("a", {"devices=3xcpu", "strategy=sharded", "audit.weights_every_steps=5"});
  RunAuditor auditor = all.auditor("a");
  for (const char* from : {"0", "4", "8"}) {
    SegmentAudit audit = auditor.audit(auditor.segment(from, 0));
    EXPECT_TRUE(audit.passed()) << to_text(audit);
    EXPECT_THAT(audit.root.differences, ElementsAre());
    EXPECT_EQ(audit.segment.to, 12);
  }
  EXPECT_EQ(auditor.segment("4", 3).to, 7);
  EXPECT_THROW(auditor.segment("5", 0), Error);
  EXPECT_THROW(auditor.segment("12", 0), Error);
}

TEST(AuditRun, ChoosesSegmentsBetweenCheckpointsBySeed) {
  AuditedRuns all;
  all.train("a");
  RunAuditor auditor = all.auditor("a");
  auto begins = [&](int64_t count, uint64_t seed) {
    std::vector<int64_t> steps;
    for (AuditSegment segment : auditor.random_segments(count, 0, seed)) {
      EXPECT_EQ(segment.to, segment.from + 4);
      steps.push_back(segment.from);
    }
    return steps;
  };
  EXPECT_THAT(begins(9, 1), testing::UnorderedElementsAre(0, 4, 8));
  EXPECT_EQ(begins(2, 5), begins(2, 5));
  EXPECT_EQ(begins(2, 5).size(), 2u);
}

// The step from which the run went back, and those until the next checkpoint.
TEST(AuditRun, NamesTheStepsThatNoReplayReachesAndChoosesOthers) {
  MadeRuns runs;
  Reports reports;
  runs.train("run",
             {"guard.loss_zscore=20", "guard.window=3", "guard.on_bad_step=rollback", "seed=3",
              "checkpoint.every_steps=2", "checkpoint.keep_last=20"},
             reports);
  auto bad = std::ranges::find_if(reports.steps, &StepReport::bad);
  ASSERT_NE(bad, reports.steps.end());
  int64_t first = bad->step, next = (first + 1) / 2 * 2;
  RunAuditor auditor(runs / "run", {});
  EXPECT_THAT(auditor.check().problems, testing::IsEmpty());
  std::vector<AuditSegment> unreachable = auditor.unreachable();
  ASSERT_FALSE(unreachable.empty());
  EXPECT_EQ(unreachable[0].from, first - 1);
  EXPECT_EQ(unreachable[0].to, next);
  for (AuditSegment segment : auditor.random_segments(100, 0, 1)) {
    SegmentAudit audit = auditor.audit(segment);
    EXPECT_TRUE(audit.passed()) << to_text(audit);
    for (AuditSegment other : unreachable)
      EXPECT_TRUE(segment.to <= other.from || segment.from >= other.to);
  }
  AuditSegment until = auditor.segment("0", 0);
  EXPECT_EQ(until.to, first - 1);
}

// Its last step is neither in the chain nor counted by the summary, with and without a judge of the
// step before its update, and even if no line of metrics is behind it.
TEST(AuditRun, PassesARunThatDiverged) {
  MadeRuns runs;
  const Words judged = {"guard.loss_zscore=20", "guard.window=3"};
  const Words often = {"log.every_steps=1"};
  const Words seldom = {"log.every_steps=100", "log.hash_every_steps=0"};
  for (const Words& guard : {judged, Words{"optimizer.lr=1e30"}})
    for (const Words& lines : {often, seldom}) {
      Words words = {"guard.on_bad_step=stop", "seed=3", "checkpoint.every_steps=1"};
      EXPECT_THROW(runs.train("run", words + guard + lines), Error);
      RunAuditor auditor(runs / "run", {});
      EXPECT_THAT(auditor.check().problems, testing::IsEmpty());
      SegmentAudit audit = auditor.audit(auditor.segment("0", 0));
      EXPECT_TRUE(audit.passed()) << to_text(audit);
    }
}

// A branch has its root where it began, and steps from its first checkpoint on.
TEST(AuditRun, ReachesAllStepsOfARunWithoutRollbacks) {
  AuditedRuns all;
  all.train("a");
  EXPECT_TRUE(all.auditor("a").unreachable().empty());
  std::filesystem::remove(all.runs / "a" / "checkpoints/step_00000004.h5");
  EXPECT_TRUE(all.auditor("a").unreachable().empty());
  all.train("trunk", {"steps=4"});
  Reports reports;
  RunOptions options;
  options.resume = (all.runs / "trunk").string();
  all.runs.train("branch", all.words({"steps=4"}), reports, options);
  all.runs.resume("branch", all.words());
  RunAuditor auditor = all.auditor("branch");
  EXPECT_TRUE(auditor.unreachable().empty());
  EXPECT_TRUE(auditor.audit(auditor.segment("4", 0)).passed());
}

// The optimizer's state is in no record, but in checkpoints.
TEST(AuditRun, NamesAChangedMomentumInACheckpoint) {
  AuditedRuns all;
  all.train("a");
  auto path = all.runs / "a" / "checkpoints/step_00000008.h5";
  TrainingState state = read_checkpoint(path);
  state.optimizer.at(0).second.at(1).values.at(0) += 1;
  write_checkpoint(path, state);
  RunAuditor auditor = all.auditor("a");
  SegmentAudit audit = auditor.audit(auditor.segment("4", 0));
  ASSERT_TRUE(audit.difference);
  EXPECT_EQ(audit.difference->step, 8);
  EXPECT_THAT(audit.difference->tensor, HasSubstr("momentum of "));
  EXPECT_FALSE(audit.replays);
}

TEST(AuditRun, NamesOtherDataAtTheRoot) {
  AuditedRuns all;
  all.train("a");
  write_images(all.runs / "images/t10k", 13);
  RunAuditor auditor = all.auditor("a");
  SegmentAudit audit = auditor.audit(auditor.segment("8", 0));
  EXPECT_THAT(audit.root.differences, ElementsAre(HasSubstr("data: ")));
  EXPECT_FALSE(audit.passed());
}

enum class Kind { weight, gradient, sample, draw };

// Random trials: a run with a bit flipped in one step is named by its record, and a machine with
// the same fault by two replays.
class AuditFaults : public testing::Test {
 protected:
  AuditFaults() : AuditFaults([](const AuditedRuns&) { return Words{}; }) {}
  // make: returns further words of the run "a", which may need another run.
  explicit AuditFaults(Words (*make)(const AuditedRuns&)) : more(make(all)) {
    all.train("a", more);
    Replay replay(config(), {});
    TensorRecorder recorder(replay.towers());
    replay.inspect(recorder);
    tensors = recorder.towers().at(0);
    for (const ParameterEntry* entry : replay.layout().by_name())
      if (entry->trained()) weights.push_back(*entry);
  }
  RunConfig config() const { return parse_config({}, all.runs.words("a", all.words(more))).config; }

  static bool suits(Kind kind, const TensorName& name) {
    if (kind == Kind::sample) return name.op == "input" && name.parameter == "images";
    if (kind == Kind::draw) return name.op == "dropout" && name.output == 1;
    return kind == Kind::gradient && name.op != "input" && !name.parameter.empty();
  }
  // Bits of large weight, so that the fault leaves a trace, but no infinity.
  BitFlip random_flip(Kind kind, RandomStream& random, uint64_t& draw) const {
    auto below = [&](uint64_t count) { return random.below(draw++, static_cast<uint32_t>(count)); };
    BitFlip flip{.step = 1 + static_cast<int64_t>(below(12))};
    flip.bit = kind == Kind::draw ? static_cast<int>(below(8)) : 20 + static_cast<int>(below(9));
    if (kind == Kind::weight) {
      const ParameterEntry& entry = weights.at(below(weights.size()));
      flip.tensor = entry.name;
      flip.element = below(static_cast<uint64_t>(entry.elements()));
      return flip;
    }
    std::vector<const TensorRecord*> suited;
    for (const TensorRecord& tensor : tensors)
      if (suits(kind, tensor.name)) suited.push_back(&tensor);
    const TensorRecord& chosen = *suited.at(below(suited.size()));
    // The last batch of an epoch has 12 samples: none for the fourth tower.
    flip.tower = static_cast<int>(below(3));
    flip.tensor = chosen.name.text();
    flip.element = below(static_cast<uint64_t>(chosen.spec.shape.elements()));
    return flip;
  }

  // Writes the run "b", as a machine with the fault would have recorded it. Returns whether the
  // fault left a trace.
  bool record_faulty(const BitFlip& flip) {
    namespace fs = std::filesystem;
    fs::path from = all.runs / "a", to = all.runs / "b";
    fs::create_directories(to);
    for (const char* name : {"config.yaml", "metrics.jsonl"})
      fs::copy_file(from / name, to / name, fs::copy_options::overwrite_existing);
    std::vector<std::string> lines = lines_of(from / "audit.jsonl"), faulty = {lines.at(0)};
    std::string value = split_chained(lines[0])->value;
    FaultyReplay fault(flip);
    Replay replay(config(), {}, fault.hooks());
    while (replay.step() < 12) {
      std::string line;
      append_text(replay.next_record(true), line);
      chain_line(line, value);
      faulty.push_back(line.substr(0, line.size() - 1));
    }
    write_lines(to / "audit.jsonl", faulty);
    return faulty != lines;
  }

  void expect_record_names(Kind kind, const BitFlip& flip) {
    RunAuditor auditor(all.runs / "b", {});
    EXPECT_TRUE(auditor.log().problems.empty());
    SegmentAudit audit = auditor.audit(auditor.segment("0", 0));
    ASSERT_TRUE(audit.difference);
    const TensorDifference& found = *audit.difference;
    EXPECT_EQ(found.step, flip.step) << to_text(audit);
    EXPECT_FALSE(audit.replays);
    if (kind == Kind::weight) {
      EXPECT_EQ(found.tensor, "weights " + flip.tensor);
    } else if (kind == Kind::sample) {
      EXPECT_EQ(found.tower, flip.tower) << to_text(audit);
      EXPECT_EQ(found.tensor, "loss");
    } else {
      EXPECT_EQ(found.tensor, "norm of the gradient") << to_text(audit);
    }
    if (kind == Kind::gradient) {  // "gradient of fc1.weight, by dense_backward_weights"
      std::string name = flip.tensor.substr(12, flip.tensor.find(',') - 12);
      EXPECT_THAT(found.note, HasSubstr(name)) << to_text(audit);
    }
  }

  void expect_replays_name(const BitFlip& flip) {
    std::vector<std::unique_ptr<FaultyReplay>> faults;
    auto hooks = [&](int replay) {
      if (replay == 2) return ReplayHooks{};
      return faults.emplace_back(std::make_unique<FaultyReplay>(flip))->hooks();
    };
    RunAuditor auditor = all.auditor("a");
    SegmentAudit audit = auditor.audit(auditor.segment("0", 0), hooks);
    ASSERT_TRUE(audit.replays) << to_text(audit);
    const TensorDifference& found = *audit.replays;
    EXPECT_EQ(found.step, flip.step);
    EXPECT_EQ(found.tower, flip.tower);
    EXPECT_EQ(found.tensor, flip.tower < 0 ? "weights " + flip.tensor : flip.tensor);
    EXPECT_NE(found.a, found.b);
  }

  static int trials() { return long_tests() ? 25 : 3; }
  void try_faults(Kind kind, int trials) {
    uint64_t draw = 0;
    RandomStream random(static_cast<uint64_t>(kind), Purpose::initialize, 1, 0);
    for (int done = 0; done < trials;) {
      BitFlip flip = random_flip(kind, random, draw);
      SCOPED_TRACE(fmt::format("step {}, tower {}, {}[{}], bit {}", flip.step, flip.tower,
                               flip.tensor, flip.element, flip.bit));
      if (!record_faulty(flip)) continue;  // of a dead unit: no number of the run differs
      expect_record_names(kind, flip);
      expect_replays_name(flip);
      ++done;
    }
  }

  AuditedRuns all;
  std::vector<TensorRecord> tensors;
  std::vector<ParameterEntry> weights;
  Words more;
};

TEST_F(AuditFaults, NameAFlippedBitOfAWeight) {
  try_faults(Kind::weight, trials());
}
TEST_F(AuditFaults, NameAFlippedBitOfAGradient) {
  try_faults(Kind::gradient, trials());
}
TEST_F(AuditFaults, NameAFlippedBitOfASample) {
  try_faults(Kind::sample, trials());
}
TEST_F(AuditFaults, NameAFlippedBitOfARandomDraw) {
  try_faults(Kind::draw, trials());
}

// The run learns from another one, whose weights each replay computes with, too.
Words taught(const AuditedRuns& all) {
  all.train("teacher", {"model.channels=[6]", "seed=9"});
  return {"distill.from=" + (all.runs / "teacher").string(), "data.augment.mixup=0.5"};
}

class TaughtAuditFaults : public AuditFaults {
 protected:
  TaughtAuditFaults() : AuditFaults(taught) {}
};

TEST_F(TaughtAuditFaults, AreNoneInReplays) {
  RunAuditor auditor = all.auditor("a");
  for (const char* from : {"0", "8"}) {
    SegmentAudit audit = auditor.audit(auditor.segment(from, 0));
    EXPECT_TRUE(audit.passed()) << to_text(audit);
  }
  all.train("c", more + Words{"devices=3xcpu", "strategy=sharded"});
  EXPECT_EQ(lines_of(all.runs / "c" / "audit.jsonl"), lines_of(all.runs / "a" / "audit.jsonl"));
}
TEST_F(TaughtAuditFaults, NameAFlippedBitOfAWeight) {
  try_faults(Kind::weight, 2);
}
TEST_F(TaughtAuditFaults, NameAFlippedBitOfAGradient) {
  try_faults(Kind::gradient, 2);
}
TEST_F(TaughtAuditFaults, NameAFlippedBitOfASample) {
  try_faults(Kind::sample, 2);
}

}  // namespace
}  // namespace spire
