// What is recorded of steps: every op of the plan once per tower and step, spans that nest, ascend
// and fit into their step, the same bits; on GPUs between steps that replay CUDA graphs.
#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

class RecordedSteps : public OnEachKind {};
SPIRE_TEST_ON_EACH_KIND(RecordedSteps);

// Windows of steps [first, last] of a run that ends one step later; by rank.
struct Traced {
  std::map<int, std::vector<TracedThread>> threads;
  std::map<int, int64_t> through;
  uint64_t hash = 0;
};

Traced trace(const SmallRun& run, int64_t first, int64_t last, int64_t max_spans = INT64_MAX) {
  std::mutex mutex;
  Traced traced;
  on_ranks(run, [&](TowerTrainer& trainer) {
    std::vector<TracedThread> threads;
    int64_t through = 0;
    for_batches(trainer, run, run.dataset(), 0, last + 1, [&](const Batch& batch, int64_t done) {
      int64_t step = done + 1;
      if (step == first) trainer.begin_trace(max_spans);
      trainer.begin_step(batch, done, run.optimizer.lr);
      bool edge = step + 1 == first || step >= last;
      while (trainer.under_way() > (edge ? 0 : trainer.max_ahead())) trainer.finish_step();
      if (step != last) return;
      through = trainer.traced_through();
      threads = trainer.end_trace();
    });
    std::scoped_lock lock(mutex);
    int rank = trainer.placement().rank;
    traced.threads[rank] = std::move(threads);
    traced.through[rank] = through;
    if (rank == 0) traced.hash = trainer.parameter_hash();
  });
  return traced;
}

// Names of the ops of a tower with this many samples, in the order of its plan.
std::vector<std::string> ops_of(const SmallRun& run, int64_t samples) {
  if (samples == 0) return {};
  TowerTrainerOptions options = run.options();
  auto build = [&](int64_t batch) {
    return build_model(run.model, run.loss, options.input(batch, true), true);
  };
  ParameterLayout layout =
      make_layout([&](int64_t batch, bool) { return build(batch); }, run.batch_size);
  LoweredGraph lowered = lower_for_training(build(samples), {}, layout, run.recompute);
  std::vector<std::string> names;
  for (const Node& node : lowered.graph.nodes())
    if (!node.op->is_view() && node.op->name() != "tower_sum")  // no kernel: lanes meet there
      names.emplace_back(node.op->name());
  return names;
}

// Fails unless spans begin in their order, and each lies within those that were open then.
void expect_nested(const TracedThread& thread) {
  std::vector<const RecordedSpan*> open;
  int64_t before = 0;
  for (const RecordedSpan& span : thread.spans) {
    EXPECT_LE(before, span.begin) << span.text;
    before = span.begin;
    EXPECT_LE(span.begin, span.end) << span.text;
    while (!open.empty() && open.back()->end <= span.begin &&
           !(open.back()->begin == span.begin && open.back()->end == span.end))
      open.pop_back();
    if (!open.empty()) {
      EXPECT_LE(span.end, open.back()->end) << span.text << " within " << open.back()->text;
    }
    open.push_back(&span);
  }
}

// Sums of the durations of a kind's spans, by step.
std::map<int64_t, int64_t> durations(const TracedThread& thread, SpanKind kind) {
  std::map<int64_t, int64_t> sums;
  for (const RecordedSpan& span : thread.spans)
    if (span.kind == kind) sums[span.step] += span.end - span.begin;
  return sums;
}

using OpsOfTowers = std::map<std::pair<int64_t, int64_t>, std::vector<std::string>>;  // step, tower

void collect_ops(const TracedThread& thread, OpsOfTowers& ops) {
  for (const RecordedSpan& span : thread.spans) {
    if (span.kind != SpanKind::op) continue;
    ops[{span.step, span.number}].push_back(span.text.substr(0, span.text.find(" of ")));
  }
}

// Samples of tower `tower` in step `step`, from 1.
int64_t samples_of(const SmallRun& run, int64_t step, int64_t tower) {
  int64_t global = run.batch_size * run.towers, per_epoch = (run.samples + global - 1) / global;
  int64_t valid = std::min(global, run.samples - (step - 1) % per_epoch * global);
  return std::clamp<int64_t>(valid - tower * run.batch_size, 0, run.batch_size);
}

void expect_whole(const SmallRun& run, const Traced& traced, int64_t first, int64_t last) {
  OpsOfTowers ops;
  for (const auto& [rank, threads] : traced.threads) {
    for (const TracedThread& thread : threads) {
      EXPECT_FALSE(thread.spans.empty()) << thread.name;
      expect_nested(thread);
      auto steps = durations(thread, SpanKind::step);
      for (SpanKind kind : {SpanKind::op, SpanKind::part})
        for (auto [step, sum] : durations(thread, kind)) EXPECT_LE(sum, steps.at(step));
      collect_ops(thread, ops);
    }
  }
  for (int64_t step = first; step <= last; ++step) {
    for (int64_t tower = 0; tower < run.towers; ++tower) {
      EXPECT_EQ((ops[{step, tower}]), ops_of(run, samples_of(run, step, tower)))
          << "tower " << tower << " of step " << step;
    }
  }
  EXPECT_EQ(std::ssize(ops), (last - first + 1) * run.towers);
}

// Number of a step's spans with this text, in all threads of rank 0.
int64_t count_of(const Traced& traced, const std::string& text, int64_t step) {
  int64_t count = 0;
  for (const TracedThread& thread : traced.threads.at(0))
    count += std::ranges::count_if(thread.spans, [&](const RecordedSpan& span) {
      return span.text == text && span.step == step;
    });
  return count;
}

// The lanes of rank 0 and, with several members, a thread a member that exchanges buckets.
ptrdiff_t threads_of(const Placement& placement) {
  auto own = std::ranges::count(placement.members, 0, &Member::rank);
  return std::ssize(placement.lanes) + (placement.members.size() > 1 ? own : 0);
}

// Step 7 ends the epoch with 7 of 16 samples: one tower is whole, one ragged, two have none. GPUs
// replay CUDA graphs in the steps before and after these.
TEST_P(RecordedSteps, HaveEveryOpOncePerTowerAndStep) {
  for (int ranks : rank_counts({1, 2})) {
    SmallRun run;
    run.ranks = ranks;
    run.strategy = ranks == 1 ? "parameter_device" : "sharded";
    run.devices = on_gpu() && ranks > 1 ? devices_of_ranks(ranks) : devices(2);
    Traced traced = trace(run, 6, 8);
    EXPECT_EQ(std::ssize(traced.threads), ranks);
    EXPECT_EQ(std::ssize(traced.threads[0]), threads_of(run.place()));
    expect_whole(run, traced, 6, 8);
    EXPECT_EQ(traced.hash, hash_after(run, 9)) << "a timeline changes bits";
  }
}

TEST_P(RecordedSteps, HaveEveryBucketOnceOnTheExchangeThread) {
  SmallRun run;
  run.model.hidden = {512};  // enough for several buckets
  run.ranks = 2;
  if (rank_counts({2}).empty()) GTEST_SKIP() << "two processes need a device each";
  run.devices = devices_of_ranks(2);
  Traced traced = trace(run, 3, 4);
  const TracedThread& thread = traced.threads.at(1).back();
  EXPECT_EQ(thread.name, "exchange");
  std::map<int64_t, std::vector<int64_t>> buckets;
  for (const RecordedSpan& span : thread.spans)
    if (span.kind == SpanKind::bucket && span.number >= 0)
      buckets[span.step].push_back(span.number);
  ASSERT_GT(buckets[3].size(), 1u);
  for (const auto& [step, numbers] : buckets)
    for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], static_cast<int64_t>(i));
  EXPECT_EQ(buckets[3], buckets[4]);
  EXPECT_EQ(buckets.size(), 2u);
}

TEST_P(RecordedSteps, OfAJudgedRunNestToo) {
  SmallRun run;
  run.judged = true;
  run.devices = devices(1);
  expect_whole(run, trace(run, 2, 2), 2, 2);
}

// Its towers run in lockstep, from one sum over all towers to the next.
TEST_P(RecordedSteps, OfSyncBatchNormHaveEveryOpAndSum) {
  SmallRun run;
  run.model.normalization = ModelConfig::Normalization::batch_norm;
  run.model.batch_norm = ModelConfig::BatchNorm::sync;
  run.devices = devices(2);
  Traced traced = trace(run, 2, 3);
  auto lanes = std::ssize(run.place().lanes);
  ASSERT_EQ(std::ssize(traced.threads.at(0)), threads_of(run.place()));
  expect_whole(run, traced, 2, 3);
  for (int64_t step : {2, 3}) {
    int64_t sums = count_of(traced, "sum over all towers", step);
    EXPECT_GT(sums, 0);
    EXPECT_EQ(sums, lanes * 2 * std::ssize(run.model.channels)) << "forward and backward";
  }
  EXPECT_EQ(traced.hash, hash_after(run, 4));
}

// What is inspected has spans of its own, behind those of the step.
TEST_P(RecordedSteps, KeepAnInspectedStep) {
  SmallRun run;
  run.judged = true;
  run.devices = devices(1);
  TowerTrainer trainer(run.options(), run.place());
  Traced traced;
  trainer.set_judge([](const StepOutcome& result) { return result.step != 2; });
  trainer.team().lead([&] { trainer.begin_trace(); });
  for_batches(trainer, run, run.dataset(), 0, 3, [&](const Batch& batch, int64_t done) {
    if (!trainer.step(batch, done, run.optimizer.lr).rejected) return;
    NonFiniteSearch search(run.towers);
    trainer.inspect(batch, done, search);
  });
  trainer.team().lead([&] { traced.threads[0] = trainer.end_trace(); });
  auto once = ops_of(run, run.batch_size), twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  OpsOfTowers ops;
  for (const TracedThread& thread : traced.threads[0]) {
    expect_nested(thread);
    collect_ops(thread, ops);
  }
  EXPECT_EQ((ops[{1, 0}]), once);
  EXPECT_EQ((ops[{2, 0}]), twice);
  EXPECT_EQ((ops[{3, 0}]), once);
  for (int64_t step : {1, 2, 3})
    EXPECT_EQ(count_of(traced, "inspected step", step),
              step == 2 ? std::ssize(run.place().lanes) : 0);
}

TEST_P(RecordedSteps, AreWholeWhereTheyAreLimited) {
  SmallRun run;
  run.devices = devices(1);
  Traced traced = trace(run, 2, 3, 1);
  EXPECT_EQ(traced.through[0], 2);
  expect_whole(run, traced, 2, 2);
}

}  // namespace
}  // namespace spire
