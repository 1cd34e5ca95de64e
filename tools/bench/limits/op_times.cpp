#include "tools/bench/limits/op_times.h"

#include <algorithm>
#include <utility>

#include "engine/base/text.h"
#include "engine/config/words.h"
#include "engine/observe/formatting.h"
#include "engine/run/run_data.h"
#include "engine/run/run_setup.h"
#include "engine/train/tower_trainer.h"
#include "tools/bench/limits/ceilings.h"
#include "tools/bench/report/bench_report.h"
#include "tools/performance/tower_work.h"

namespace spire {
namespace {

constexpr size_t listed = 10;  // ops that lose most

// Returns the times of each op of lane 0's first tower, one per repetition.
std::vector<std::vector<double>> time_steps(TowerTrainer& trainer, const Batch& batch, size_t ops,
                                            const OpTimesOptions& options) {
  constexpr double no_change = 0;  // learning rate
  std::vector<RecordedSpan> spans;
  trainer.team().lead([&] {
    for (int64_t step = 0; step < options.warmup + options.repetitions; ++step) {
      if (step == options.warmup) trainer.begin_trace();
      trainer.step(batch, step, no_change);
    }
    spans = std::move(trainer.end_trace().front().spans);
  });
  std::erase_if(spans, [first = trainer.placement().lane_towers[0].begin](const RecordedSpan& s) {
    return s.kind != SpanKind::op || s.number != first;
  });
  require(spans.size() == ops * static_cast<size_t>(options.repetitions), "{} spans of {} ops",
          spans.size(), ops);
  std::vector<std::vector<double>> seconds(ops);
  for (size_t i = 0; i < spans.size(); ++i)
    seconds[i % ops].push_back(1e-9 * static_cast<double>(spans[i].end - spans[i].begin));
  return seconds;
}

std::vector<std::string> cells_of(std::vector<std::string> names, const OpTime& op, double step) {
  auto milliseconds = [](double seconds) { return fmt::format("{:.2f}", 1e3 * seconds); };
  bool known = op.roofline_seconds > 0;
  for (std::string cell :
       {milliseconds(op.seconds), fmt::format("{:.1f}%", 100 * op.seconds / step),
        known ? milliseconds(op.roofline_seconds) : "-",
        known ? milliseconds(op.lost_seconds()) : "-",
        op.flops > 0 ? fmt::format("{:.1f}", op.flops / op.seconds / 1e9) : "",
        fmt::format("{:.1f}", op.bytes / op.seconds / 1e9)})
    names.push_back(std::move(cell));
  return names;
}

std::string ceiling_text(double per_s, const char* unit, const std::string& of) {
  return per_s > 0 ? fmt::format("{:.1f} {} of {}", per_s / 1e9, unit, of) : of + " not measured";
}

std::string heading(const OpTimes& times) {
  return fmt::format(
      "ops of a tower's step on {} ({}), {}, {}; {} at the same time; medians of {}\n"
      "roofline: the longer of FLOPs and bytes at a lane's ceilings: {}, {}\n"
      "not included: copies of the batch, sums of gradients, update, packing of weights\n\n",
      times.device, counted(times.threads, "thread"), counted(times.samples, "sample"),
      times.precision, counted(times.lanes, "lane"), counted(times.repetitions, "run"),
      ceiling_text(times.flops_per_s, "GFLOP/s", "products in " + times.precision),
      ceiling_text(times.copy_bytes_per_s, "GB/s", "copies"));
}

TextTable kinds_table(const std::vector<OpTime>& ops, double step) {
  TextTable table = {{"pass", "op", "count", "ms", "share", "roofline", "lost", "GFLOP/s", "GB/s"}};
  for (const OpTime& kind : sums_by_kind(ops)) {
    auto count = std::ranges::count_if(ops, [&](const OpTime& op) { return op.same_kind(kind); });
    table.push_back(cells_of({word_of(kind.pass), kind.op, std::to_string(count)}, kind, step));
  }
  for (Pass pass : {Pass::forward, Pass::backward})
    table.push_back(cells_of({word_of(pass), "all", ""}, sum_of(ops, pass), step));
  table.push_back(cells_of({"both", "all", std::to_string(ops.size())}, sum_of(ops), step));
  return table;
}

TextTable losses_table(std::vector<OpTime> ops, double step) {
  std::ranges::stable_sort(ops, std::ranges::greater{}, &OpTime::lost_seconds);
  ops.resize(std::min(ops.size(), listed));
  TextTable table = {
      {"loses most", "layer", "shapes", "ms", "share", "roofline", "lost", "GFLOP/s", "GB/s"}};
  for (const OpTime& op : ops) table.push_back(cells_of({op.op, op.layer, op.shapes}, op, step));
  return table;
}

}  // namespace

OpTimes time_ops(const RunConfig& config, const Ceilings& ceilings, const OpTimesOptions& options) {
  require(options.repetitions > 0, "ops are timed over {} runs", options.repetitions);
  Observer silent;
  RunSetup setup(config, {}, silent);
  setup.take_cores();
  auto loader = train_loader(setup.config, setup.data, setup.placement, 1);
  TowerTrainerOptions trained = setup.trainer_options();
  trained.train_samples = trained.test_samples = trained.val_samples = 0;  // full batches alone
  trained.sample_rows = 0;
  trained.judged = false;
  TowerTrainer trainer(trained, setup.placement);
  setup.keep_tuning(silent);
  loader->start(0, 0, 1);
  const Batch& batch = loader->next();
  loader->stop();  // reader threads take no time from the ops
  const Placement& placement = setup.placement;
  const PlacedDevice& device = placement.devices[static_cast<size_t>(placement.lane_device[0])];
  double share = 1.0 / static_cast<double>(ceilings.devices * device.lanes);
  Roofline roofline = roofline_of(ceilings, share);
  OpTimes times{.device = to_string(device.id),
                .lanes = static_cast<int64_t>(placement.lanes.size()),
                .threads = placement.lanes[0].threads,
                .samples = placement.batch_size,
                .precision = std::string(word_of(setup.config.precision)),
                .repetitions = options.repetitions,
                .flops_per_s = roofline.peak(compute_dtype(trained.config)),
                .copy_bytes_per_s = roofline.bytes_per_s,
                .ops = {}};
  std::vector<OpWork> ops = tower_work(setup).ops();
  auto seconds = time_steps(trainer, batch, ops.size(), options);
  for (size_t op = 0; op < ops.size(); ++op)
    times.ops.push_back({ops[op], median(seconds[op]), roofline.seconds(ops[op])});
  return times;
}

std::string to_text(const OpTimes& times) {
  double step = sum_of(times.ops).seconds;
  return heading(times) + aligned_text(kinds_table(times.ops, step)) + "\n" +
         aligned_text(losses_table(times.ops, step));
}

}  // namespace spire
