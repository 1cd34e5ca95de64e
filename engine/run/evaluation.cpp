#include "engine/run/evaluation.h"

#include <cmath>
#include <utility>

#include <spire/train.h>

#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/base/write_file.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "engine/run/run_data.h"
#include "engine/run/run_setup.h"
#include "engine/run/watch.h"
#include "engine/train/failure.h"

namespace spire {
namespace {

// A loss of so many times the first training loss means divergence: losses of a model that
// learns nothing stay near the first one.
constexpr double explosion = 10;

}  // namespace

void EarlyStop::add(bool improved, double metric) {
  // "not below" and not "above": any number is an improvement on NaN.
  bool far = !(std::abs(metric - state_.reference) < config_.min_delta);
  if (state_.waited < 0 || (improved && far)) {
    state_ = {0, metric};
  } else {
    ++state_.waited;
  }
}

Evaluation::Evaluation(RunContext& run, RunCheckpoints& checkpoints, BatchLoader& data)
    : run_(run),
      checkpoints_(checkpoints),
      data_(data),
      metrics_(run.setup.evaluation_metrics(run.setup.data.selection())),
      early_stop_(run.setup.config.early_stop) {}

void Evaluation::resume() {
  early_stop_.restore(run_.progress.early_stop);
}

void Evaluation::write_samples_to(const std::filesystem::path& folder) {
  samples_.emplace(run_.setup.data.selection(), run_.setup.task(), run_.setup.config.eval.samples,
                   folder);
}

bool Evaluation::knows_first_loss() const {
  return !std::isnan(first_loss_);
}

bool Evaluation::due() const {
  int64_t step = run_.progress.step;
  if (run_.options.only_steps || run_.progress.evaluated_step == step) return false;
  const EvalConfig& eval = run_.setup.config.eval;
  return step >= run_.total_steps || is_due(eval.every_epochs * run_.steps_per_epoch(), step) ||
         is_due(eval.every_steps, step);
}

bool Evaluation::evaluate() {
  checkpoints_.capture();
  checkpoints_.replace_failed();
  auto begin = run_.clock.now();
  run_.trainer.begin_evaluation();
  EvaluationSums sums = sum_batches(data_, metrics_);
  bool whole = sums.samples >= samples();  // even where a stop came with the last batch
  if (samples_ && whole) write_samples();
  run_.trainer.end_evaluation();
  run_.skipped_samples.warn(run_.setup.data, run_.observer);
  if (!whole) {  // a resumed run does it again
    run_.clock.pause(begin);
    return false;
  }
  EvalReport report = metrics_.report(run_.progress.step, sums, run_.setup.ranks);
  report.epoch = run_.clock.epoch(report.step);
  report.best = take_result(report);
  warn_of_explosion(report.loss);
  checkpoints_.restore_output();
  write_confusion("confusion.json", report.step, metrics_);
  report.seconds = run_.clock.pause(begin);
  run_.observer.on_eval(report);
  return report.best;
}

std::optional<EvalReport> Evaluation::measure_test(BatchLoader& test_data, int64_t step) {
  auto begin = run_.clock.now();
  EvaluationMetrics metrics = run_.setup.evaluation_metrics(*run_.setup.data.test);
  run_.trainer.begin_evaluation();
  EvaluationSums sums = sum_batches(test_data, metrics);
  run_.trainer.end_evaluation();
  double seconds = run_.clock.pause(begin);
  if (sums.samples < samples_of(*run_.setup.data.test)) return {};
  EvalReport report = metrics.report(step, sums, run_.setup.ranks);
  report.epoch = run_.clock.epoch(step);
  report.seconds = seconds;
  write_confusion("confusion_test.json", step, metrics);
  return report;
}

// Runs the data through the trainer, until its end or until some rank asks to stop.
EvaluationSums Evaluation::sum_batches(BatchLoader& data, EvaluationMetrics& metrics) {
  EvaluationSums sums;
  run_.enter(Phase::eval);
  metrics.begin();
  data.start(0, 0, 1);
  int64_t batches = 0;
  while (!data.finished() && !run_.stop_asked() && batches++ < max_batches()) {
    run_.enter(Phase::eval);
    metrics.evaluate(run_.trainer, data.next(), sums, run_.stop_here());
    run_.stop = sums.stop;
  }
  run_.enter(Phase::idle);
  return sums;
}

// Records the result in the run's progress; returns whether it is the best so far.
bool Evaluation::take_result(const EvalReport& report) {
  TrainingProgress& progress = run_.progress;
  double former =
      progress.best_step < 0 ? std::numeric_limits<double>::quiet_NaN() : progress.best_metric;
  double value = metrics_.choice().deciding(report);
  bool best = metrics_.choice().is_better(value, former);
  if (std::isnan(value) && std::isfinite(report.loss)) warn_of_undefined(report.step);
  if (best) {
    progress.best_metric = value;
    progress.best_step = progress.step;
  }
  early_stop_.add(best, value);
  progress.early_stop = early_stop_.state();
  progress.evaluated_step = progress.step;
  progress.evaluated_loss = report.loss;
  progress.evaluated_metric = report.metric.value;
  progress.evaluated_others = report.others;
  return best;
}

// A full disk costs the file, not the run.
void Evaluation::write_confusion(const char* file, int64_t step, const EvaluationMetrics& metrics) {
  std::string json = metrics.confusion_json(step, run_.setup.data.test->spec().class_names);
  if (json.empty() || folder_.empty()) return;
  try {
    write_file_atomically(folder_ / file, json, Category::unexpected);
  } catch (const Error& error) {
    run_.observer.on_warning(error.what());
  }
}

// A dry run shows that evaluations work; it evaluates as many batches as it trains on.
int64_t Evaluation::max_batches() const {
  return run_.writes() ? std::numeric_limits<int64_t>::max() : run_.options.dry_run;
}

int64_t Evaluation::samples() const {
  return samples_of(run_.setup.data.selection());
}

int64_t Evaluation::samples_of(const Dataset& data) const {
  int64_t all = data.count(), batch = run_.setup.placement.global_batch;
  return max_batches() <= all / batch ? max_batches() * batch : all;
}

void Evaluation::warn_of_explosion(double loss) {
  bool exploded = !std::isfinite(loss) || loss > explosion * first_loss_;
  if (!exploded || std::exchange(warned_of_explosion_, true)) return;
  run_.observer.on_warning(fmt::format(
      "the run diverges: the loss on the {} data is {:.4g}, and it was {:.4g} in "
      "the first training step; lower optimizer.lr, raise schedule.warmup_epochs, or "
      "set optimizer.clip_norm",
      run_.setup.data.val ? "validation" : "test", unsigned_nan(loss), unsigned_nan(first_loss_)));
}

// Such as the AUC of data with one class alone.
void Evaluation::warn_of_undefined(int64_t step) {
  if (std::exchange(warned_of_undefined_, true)) return;
  run_.observer.on_warning(fmt::format(
      "best.metric: {} is undefined on the {} data at step {}, so this evaluation is not the best; "
      "use another metric, or data that has all classes",
      to_string(metrics_.choice().best), run_.setup.data.val ? "validation" : "test", step));
}

// A full disk costs an image, not the run.
void Evaluation::write_samples() {
  try {
    samples_->write(run_.progress.step, *run_.trainer.sampler());
  } catch (const Error& error) {
    run_.observer.on_warning(error.what());
  }
}

namespace {

const Dataset& evaluated_data(const RunSetup& setup, const RunOptions& options) {
  if (!options.on_validation) return *setup.data.test;
  if (setup.data.val) return *setup.data.val;
  fail(Category::config,
       "the config holds out no validation data; set data.val as the run had it, or evaluate the "
       "test data");
}

EvalResult evaluate(const RunConfig& config, const RunOptions& options, Observer& observer,
                    World& world) {
  StartWatch start(world, config, options.on_phase);
  start.status().enter(0, Phase::start);
  RunOptions at_checkpoint = options;
  std::optional<LoadedCheckpoint> found;
  if (options.checkpoint == nullptr) {
    auto warn = [&](const auto&, const std::string& text) { observer.on_warning(text); };
    found = load_named(options.resume.value_or(config.output), config.output,
                       CheckpointChoice::best, warn)
                .checkpoint;
    at_checkpoint.checkpoint = &*found;
  }
  const LoadedCheckpoint& checkpoint = *at_checkpoint.checkpoint;
  at_checkpoint.resume = checkpoint.path.string();
  at_checkpoint.evaluates = true;
  RunSetup setup(config, at_checkpoint, observer, &start.status());
  start.watch_gpus(setup);
  setup.take_cores();
  TowerTrainerOptions trainer_options = setup.trainer_options();
  trainer_options.snapshot = SnapshotChoice::never;
  // Streams of the trainer's devices may still copy a batch when it ends: the loader outlives it.
  const Dataset& evaluated = evaluated_data(setup, options);
  auto data = evaluation_loader(setup.config, evaluated, setup.placement);
  TowerTrainer trainer(trainer_options, setup.placement);
  setup.keep_tuning(observer);
  EvaluationSums sums;
  EvaluationMetrics metrics = setup.evaluation_metrics(evaluated);
  if (options.on_begin) options.on_begin();
  Watch watch(world, trainer.status(), config);
  trainer.team().lead([&] {
    trainer.restore(setup.resumed->state, setup.resumed->tensors.get());
    sums = metrics.evaluate_all(trainer, *data, [&] {
      if (options.stop && options.stop->load())
        fail(Category::interrupted, "evaluation stopped by a signal");
    });
  });
  // Of rows that were split off from others the whole knows which were left out.
  const Dataset& counts = evaluated.skipped() > 0 ? evaluated : *setup.data.train;
  if (counts.skipped() > 0) observer.on_warning(left_out_text(counts));
  EvalReport report = metrics.report(setup.resumed->state.step, sums, setup.ranks);
  return {report.loss, report.metric, report.samples, checkpoint.path.string(), report.others};
}

}  // namespace

EvalResult evaluate(const RunConfig& config, const RunOptions& options, Observer& observer) {
  auto alone =
      join_world({}, {.cores = allowed_cores(), .on_exit_timeout = options.on_exit_timeout});
  try {
    return evaluate(config, options, observer, *alone);
  } catch (const std::exception&) {
    if (auto failure = alone->watchdog->failure()) throw to_error(*failure);
    throw;
  }
}

}  // namespace spire
