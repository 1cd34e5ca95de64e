// train(): a run from its first step to its summary.
#include <sstream>

#include <spire/train.h>

#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/process/group/process_group.h"
#include "engine/process/watchdog/watchdog.h"
#include "engine/run/bad_steps.h"
#include "engine/run/evaluation.h"
#include "engine/run/host_warnings.h"
#include "engine/run/initial/initial_weights.h"
#include "engine/run/run_checkpoints.h"
#include "engine/run/run_context.h"
#include "engine/run/run_data.h"
#include "engine/run/run_devices.h"
#include "engine/run/run_directory.h"
#include "engine/run/run_report.h"
#include "engine/run/run_timeline.h"
#include "engine/run/watch.h"
#include "engine/train/failure.h"
#include "engine/update/schedule.h"

namespace spire {
namespace {

// The training loop. All of it runs on the leading lane's thread.
class TrainingLoop {
 public:
  // directory: null where this process writes no files. started: see RunOptions.
  TrainingLoop(RunSetup& setup, const RunOptions& options, World& world, RunDirectory* directory,
               Observer& observer, TimeLimit::Clock::time_point started)
      : setup_(setup),
        total_steps_(options.dry_run > 0 ? options.dry_run : setup.total_steps()),
        trainer_(setup.trainer_options(), setup.placement, world.group.get()),
        schedule_(setup.config.schedule, setup.learning_rate(), setup.total_steps(),
                  setup.steps_per_epoch()),
        clock_(total_steps_, setup.steps_per_epoch(), setup.metric()),
        run_{setup, options, world, observer, trainer_, clock_, total_steps_},
        output_(directory, setup, options, observer),
        checkpoints_(run_, output_),
        bad_steps_(run_, checkpoints_),
        devices_(run_),
        timeline_(run_) {
    run_.limit = time_limit(started);
    train_data_ = train_loader(setup.config, setup.data, setup.placement, trainer_.max_ahead() + 1);
    const DatasetPair& data = setup.data;
    test_data_ = evaluation_loader(setup.config, *data.test, setup.placement);
    if (data.val) val_data_ = evaluation_loader(setup.config, *data.val, setup.placement);
    evaluation_.emplace(run_, checkpoints_, data.val ? *val_data_ : *test_data_);
  }

  RunResult go() {
    trainer_.status().set_hook(run_.options.on_phase);
    watch_.emplace(run_.world, trainer_.status(), setup_.config);
    RunResult result;
    trainer_.team().lead([&] { result = lead(); });
    return result;
  }

 private:
  int64_t step() const { return run_.progress.step; }
  int64_t steps_per_epoch() const { return setup_.steps_per_epoch(); }

  RunResult lead() {
    start();
    RunResult result;
    try {
      begin_data();
      repeat_evaluation();
      while (goes_on()) {
        timeline_.before_step(step() + 1);
        one_step();
        timeline_.after_step(step());
      }
      result = finish();
    } catch (const std::exception& error) {
      end_failed(error);
    }
    if (std::string lost = run_.observer.lost(); !lost.empty()) fail(Category::device, "{}", lost);
    return result;
  }

  // Until on_begin() nothing in the output directory has changed: all that a run can be refused for
  // has been checked by then.
  void start() {
    run_.enter(Phase::start);
    std::string weights;
    if (setup_.resumed) {
      resume();
    } else {
      weights = load_initial_weights(setup_, trainer_, run_.observer);
    }
    run_.steps_done = step();
    bad_steps_.start();
    timeline_.start();
    run_.audit.start(step());
    if (run_.options.on_begin) run_.options.on_begin();
    if (output_.is_writable()) open_output();
    setup_.keep_tuning(run_.observer);
    StartInfo info = start_info(setup_, trainer_, total_steps_);
    info.initial_weights = weights;
    info.evaluates_again = setup_.resumed && evaluation_->due();
    info.audit_lines = run_.audit.first_lines();
    info.audit_goes_on = run_.audit.goes_on();
    run_.observer.on_start(info);
    if (writes_event_files_) output_.record_event_files();
    warn_at_start();
  }

  void resume() {
    LoadedCheckpoint& checkpoint = *setup_.resumed;
    trainer_.restore(checkpoint.state, checkpoint.tensors.get());
    run_.progress = checkpoint.state;
    evaluation_->resume();
    if (setup_.resumed_here) checkpoints_.continue_from(checkpoint, evaluation_->due());
    checkpoint.tensors.reset();  // closes the file, which retention may remove
  }

  // The writers of event files warn if this fails; a run does not need them.
  void expect_event_files() {
    try {
      output_.expect_event_files();
      writes_event_files_ = true;
    } catch (const Error&) {
    }
  }

  void open_output() {
    checkpoints_.open();
    evaluation_->write_files_to(setup_.config.output);
    if (trainer_.sampler()) evaluation_->write_samples_to(output_.folder("samples"));
    if (setup_.config.log.tensorboard) expect_event_files();
  }

  void warn_at_start() {
    if (step() > total_steps_) {
      run_.observer.on_warning(
          fmt::format("nothing is left to train: the checkpoint is of step {}, and the run ends at "
                      "step {}; set more epochs or steps to train on",
                      step(), total_steps_));
    }
    if (!run_.audit.data_warning().empty()) run_.observer.on_warning(run_.audit.data_warning());
    bool has_weights = setup_.resumed || setup_.config.init.from != "none" ||
                       (run_.options.dry_run > 0 && run_.options.resume);
    if (!has_weights) warn_of_frozen_noise(trainer_.layout(), run_.observer);
    timeline_.warn_at_start();
    warn_of_small_batches(setup_, trainer_.layout(), run_.observer);
    warn_of_keys_without_effect(setup_, run_.observer);
    warn_of_machine(setup_, trainer_.layout(), output_.is_writable(), run_.observer);
    note_environment(setup_, run_.observer);
    run_.skipped_samples.warn(setup_.data, run_.observer);
    int64_t evaluated = evaluation_->samples(), all = setup_.data.selection().count();
    if (evaluated < all)
      run_.observer.on_note(fmt::format("a dry run evaluates {} of the {} samples for {}",
                                        evaluated, all,
                                        setup_.data.val ? "validation" : "testing"));
  }

  void begin_data() {
    train_data_->start(step() / steps_per_epoch(), step() % steps_per_epoch(),
                       1 + total_steps_ / steps_per_epoch());
    clock_.start(step(), *train_data_);
  }

  // The evaluation at the step where this run resumes may have been cut short, or have failed.
  void repeat_evaluation() {
    bool repeats = step() > 0 && evaluation_->due();
    if (repeats) evaluation_->run_if_due();
    if (repeats || (setup_.resumed && !setup_.resumed_here)) checkpoints_.save();
  }

  bool stopped_early() const {
    return step() < total_steps_ && evaluation_->early_stop().reached();
  }
  bool goes_on() const { return step() < total_steps_ && !stopped_early() && !run_.stop_asked(); }

  // One step: its data, the trainer's step, reports of the steps that have ended, and the work that
  // is due after it. GPUs may still read the batches of max_ahead() steps when next() is called; it
  // leaves these alone.
  void one_step() {
    Span span(timeline_.loop(), {SpanKind::step, "step", step() + 1});
    trainer_.status().begin_step(step() + 1);
    const Batch& batch = next_batch();
    double lr = schedule_.lr(step());
    checkpoints_.begin_step();
    begin_step(batch, lr);
    ++run_.progress.step;
    run_.audit.take_batch(step(), *train_data_, batch);
    report_steps(needs_weights() ? 0 : trainer_.max_ahead());
    after_step();
  }

  const Batch& next_batch() {
    Span span(timeline_.loop(), {SpanKind::wait, "wait for data"});
    auto begin = RunClock::now();
    run_.enter(Phase::data);
    batch_ = &train_data_->next();
    waited_ = std::chrono::duration<double>(RunClock::now() - begin).count();
    return *batch_;
  }

  void begin_step(const Batch& batch, double lr) {
    Span span(timeline_.loop(), {SpanKind::host, "begin step"});
    trainer_.begin_step(batch, step(), lr, run_.stop_here(), waited_);
  }

  // Takes the results of the steps under way, but for the last `ahead`.
  void report_steps(int ahead) {
    Span span(timeline_.loop(), {SpanKind::host, "finish and report"});
    while (trainer_.under_way() > ahead) {
      StepOutcome result = trainer_.finish_step();
      bool bad = bad_steps_.take(result, *batch_, *train_data_);
      run_.audit.take(result, bad);
      run_.steps_done = result.step;
      run_.stop = run_.stop || result.stop;
      run_.progress.samples_seen += result.samples;
      StepReport report = clock_.step(result, run_.progress.samples_seen, *train_data_);
      report.record = result.step % setup_.config.log.every_steps == 0 ||
                      result.step == total_steps_ || hash_due(result.step);
      if (run_.limit) run_.limit->took_step(report.step_ms / 1e3);
      report.bad = bad;
      report.audit_line = run_.audit.line();
      report.chain = run_.audit.value();
      report.bad_steps = run_.guard.bad_steps();
      report.rollbacks = run_.guard.rollbacks();
      bool first = !evaluation_->knows_first_loss() && !setup_.resumed;
      if (first && !result.skipped && !bad) evaluation_->set_first_loss(result.loss);
      if (hash_due(result.step) && run_.world.rank() == 0)
        report.parameter_hash = hex(trainer_.parameter_hash());
      devices_.take(result, report);
      if (report.record) checkpoints_.restore_output();
      run_.observer.on_step(report);
    }
  }

  bool check_due() const { return is_due(setup_.config.check.replicas_every, step()); }
  // Also at the last step: equal ends are then seen without summary.json.
  bool hash_due(int64_t at) const {
    int64_t every = setup_.config.log.hash_every_steps;
    return is_due(every, at) || (every > 0 && at == total_steps_);
  }
  // Whether anything reads the weights as they are after this step.
  bool needs_weights() const {
    return step() >= total_steps_ || evaluation_->due() || checkpoints_.due() || check_due() ||
           hash_due(step()) || run_.audit.weights_due(step()) || timeline_.is_edge(step());
  }

  void after_step() {
    Span span(timeline_.loop(), {SpanKind::host, "evaluate and save, if due"});
    bool best = evaluation_->run_if_due();
    if (check_due()) trainer_.check_replicas();
    bool save = checkpoints_.due() || best;    // the test data may be evaluated with the best
    save = save && trainer_.under_way() == 0;  // an urgent one may come while a step is under way
    if (save && step() < total_steps_) checkpoints_.save();  // finish() saves the last
    checkpoints_.report();
  }

  // Saves the last checkpoint and closes the run.
  RunResult finish() {
    report_steps(0);
    timeline_.finish();
    bool interrupted = !stopped_early() && (step() < total_steps_ || evaluation_->due());
    bool out_of_time = !run_.signalled() && run_.time_is_up();
    if (stopped_early()) report_early_stop();
    checkpoints_.restore_output();
    if (auto hash = trainer_.average_hash()) ema_hash_ = hex(*hash);
    checkpoints_.save_last();
    checkpoints_.restore_output();
    if (checkpoints_.is_urgent()) checkpoints_.save_last();  // the directory was lost meanwhile
    if (!output_.lost().empty()) fail(Category::checkpoint, "{}", output_.lost());
    std::string lost = run_.observer.lost();
    if (lost.empty()) lost = timeline_.lost();
    if (!lost.empty()) fail(Category::device, "{}", lost);
    if (!interrupted) refuse_bad_end();
    if (interrupted)
      return close(static_cast<int>(Category::interrupted), out_of_time ? "max_time" : "signal");
    return close(0, stopped_early() ? "early_stop" : "");
  }

  // A run whose weights answer with NaN has not succeeded, whatever its training loss was. All
  // ranks have the same numbers.
  void refuse_bad_end() const {
    const TrainingProgress& progress = run_.progress;
    if (progress.evaluated_step != step() || std::isfinite(progress.evaluated_loss)) return;
    throw SymmetricError(
        Category::diverged,
        fmt::format("step {}: the run has ended, but the loss of its last evaluation is {}: the "
                    "weights, or the data that it read, have numbers that are not finite; lower "
                    "optimizer.lr or set optimizer.clip_norm, or look for such numbers in the data",
                    step(), unsigned_nan(progress.evaluated_loss)));
  }

  void report_early_stop() {
    const EarlyStopConfig& config = setup_.config.early_stop;
    const TrainingProgress& progress = run_.progress;
    Metric best = setup_.metrics().best;
    std::string least =
        config.min_delta > 0 ? fmt::format(" by {:.6g} or more", config.min_delta) : "";
    run_.observer.on_note(fmt::format(
        "stopped early at step {}: {} in a row did not improve {}{}; the best was at step {}: {}",
        step(), counted(progress.early_stop.waited, "evaluation"), to_string(best), least,
        progress.best_step, metric_text({best, progress.best_metric})));
  }

  // Ends the run with the error that all ranks agree on. The first error counts: one while the
  // state is saved is only a warning.
  [[noreturn]] void end_failed(const std::exception& error) {
    PhaseRow at = trainer_.status().read(0);
    if (timeline_.is_open())
      run_.observer.on_warning("there is no timeline: the run failed in its steps");
    try {
      checkpoints_.save_after_failure();
    } catch (const std::exception& second) {
      run_.observer.on_warning(second.what());
    }
    Failure verdict = agree_on_failure(error, at, run_.world);
    // The table of phases explains nothing about an error that one process has met by itself.
    bool alone = run_.world.size() == 1 && verdict.category != Category::collective;
    std::istringstream rows(verdict.rank >= 0 && !alone ? verdict.table : "");
    for (std::string row; std::getline(rows, row);) run_.observer.on_warning(row);
    close(static_cast<int>(verdict.category), verdict.text);
    throw to_error(verdict);
  }

  RunResult close(int exit_code, const std::string& stopped_by) {
    RunSummary summary = summarize(run_, output_, checkpoints_, exit_code, stopped_by, ema_hash_);
    summary.verdict = devices_.verdict(summary.times);
    if (exit_code == 0 && setup_.data.val && !run_.options.only_steps) test_at_end(summary);
    run_.observer.on_end(summary);
    return {summary.exit, summary};
  }

  // Evaluates the test data, with the best checkpoint's weights. These replace the last ones, of
  // which the summary has all by now.
  void test_at_end(RunSummary& summary) {
    int64_t of_step = step();
    if (std::optional<LoadedCheckpoint> best = checkpoints_.load_best()) {
      trainer_.restore(best->state, best->tensors.get());
      of_step = best->state.step;
    }
    if (auto report = evaluation_->measure_test(*test_data_, of_step)) {
      run_.observer.on_test(*report);
      summary.test = {report->loss, report->metric, of_step, report->others};
    } else {  // a resumed run does it again
      summary.exit = static_cast<int>(Category::interrupted);
      summary.stopped_by = run_.signalled() ? "signal" : "max_time";
    }
  }

  // A checkpoint has the parameters and at most three slots of as many floats.
  std::optional<TimeLimit> time_limit(TimeLimit::Clock::time_point started) const {
    if (run_.world.rank() != 0 || !run_.writes()) return {};
    return TimeLimit(setup_.config.max_time, started, 16 * trainer_.layout().model_floats());
  }

  RunSetup& setup_;
  bool writes_event_files_ = false;
  int64_t total_steps_;
  std::unique_ptr<BatchLoader> train_data_, test_data_, val_data_;  // before the trainer
  TowerTrainer trainer_;
  Schedule schedule_;
  RunClock clock_;
  RunContext run_;
  RunOutput output_;
  RunCheckpoints checkpoints_;
  BadSteps bad_steps_;
  RunDevices devices_;
  RunTimeline timeline_;
  std::optional<Evaluation> evaluation_;
  const Batch* batch_ = nullptr;  // of the newest step
  double waited_ = 0;             // seconds, for that batch
  std::string ema_hash_;
  std::optional<Watch> watch_;  // of the trainer's lanes; the last member: it ends first
};

}  // namespace

RunResult train(const RunConfig& config, const RunOptions& options, Observer& observer) {
  auto started = options.started.value_or(TimeLimit::Clock::now());
  std::unique_ptr<World> alone;
  if (!options.world)
    alone = join_world({}, {.cores = allowed_cores(), .on_exit_timeout = options.on_exit_timeout});
  World& world = options.world ? *options.world : *alone;
  Observer silent;
  Observer& rank_observer = world.rank() == 0 || options.only_steps ? observer : silent;
  StartWatch start(world, config, options.on_phase);
  try {
    start.status().enter(0, Phase::start);
    std::optional<RunDirectory> directory;
    if (options.dry_run == 0 && world.rank() == 0) directory.emplace(config.output);
    RunSetup setup(config, options, rank_observer, &start.status());
    warn_of_changes(setup, rank_observer);
    start.watch_gpus(setup);
    if (options.dry_run == 0) setup.try_batch(rank_observer);
    setup.take_cores();
    // The loop is gone, and its last checkpoint written, before this rank leaves the others.
    RunDirectory* written = directory ? &*directory : nullptr;
    RunResult result = TrainingLoop(setup, options, world, written, rank_observer, started).go();
    world.watchdog->leave();
    if (auto failure = world.watchdog->failure()) throw to_error(*failure);
    return result;
  } catch (const std::exception& error) {
    throw to_error(agree_on_failure(error, start.status().read(0), world));
  }
}

RunResult train(const RunConfig& config, const RunOptions& options) {
  Observer silent;
  return train(config, options, silent);
}

}  // namespace spire
