#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>

#include <spire/train.h>

#include "engine/base/hash.h"
#include "engine/base/message_words.h"
#include "engine/base/read_file.h"
#include "engine/base/thread.h"
#include "engine/base/write_file.h"
#include "engine/checkpoint/checkpoint_writer.h"
#include "engine/config/text.h"
#include "engine/config/words.h"
#include "engine/inference/samples.h"
#include "engine/optim/schedule.h"
#include "engine/process/group/process_group.h"
#include "engine/process/watchdog/watchdog.h"
#include "engine/run/early_stop.h"
#include "engine/run/progress.h"
#include "engine/run/run_directory.h"
#include "engine/run/run_setup.h"
#include "engine/train/failure.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

// Nobody waits for a run of one process to start.
WatchdogLimits limits_of(const RunConfig& config, const World& world) {
  bool alone = world.size() == 1;
  return {alone ? std::numeric_limits<double>::infinity() : config.timeouts.start,
          config.timeouts.step, config.timeouts.checkpoint, config.timeouts.silence};
}

constexpr double kExplosion = 10;  // times the first loss

// What a rank is at before its lanes take over: the thread that called train().
class StartWatch {
 public:
  StartWatch(World& world, const RunConfig& config, const RunOptions& options)
      : world_(world), limits_(limits_of(config, world)) {
    board_.set_hook(options.on_phase);
    world_.watchdog->watch(&board_, limits_);
  }
  ~StartWatch() { world_.watchdog->watch(nullptr, limits_); }

  ThreadStatus& board() { return board_; }

 private:
  World& world_;
  WatchdogLimits limits_;
  ThreadStatus board_{{"main"}};
};

// One run from its first step to its summary. All of it happens on the leading lane's thread.
class Run {
 public:
  // directory: of a run that writes files here; else null.
  Run(RunSetup& setup, const RunOptions& options, World& world, RunDirectory* directory,
      Observer& observer)
      : setup_(setup),
        options_(options),
        directory_(directory),
        world_(world),
        observer_(observer),
        total_steps_(options.dry_run > 0 ? options.dry_run : setup.total_steps()),
        trainer_(setup.trainer_options(), setup.placement, world.group.get()),
        schedule_(setup.config.schedule, setup.learning_rate(), setup.total_steps(),
                  setup.steps_per_epoch()),
        early_stop_(setup.config.early_stop),
        store_(setup.store()),
        progress_(total_steps_, setup.steps_per_epoch(), setup.metric()) {
    train_data_ = setup.train_loader(trainer_.max_ahead() + 1);
    test_data_ = setup.test_loader();
  }

  // The limits stay: ranks that are done still watch those that are not.
  ~Run() { world_.watchdog->watch(nullptr, limits_of(setup_.config, world_)); }

  RunResult go() {
    trainer_.board().set_hook(options_.on_phase);
    world_.watchdog->watch(&trainer_.board(), limits_of(setup_.config, world_));
    RunResult result;
    trainer_.team().lead([&] { result = lead(); });
    return result;
  }

 private:
  bool writes() const { return options_.dry_run == 0; }
  bool writes_files() const { return directory_ != nullptr && writable_; }
  bool stop_here() const { return options_.stop && options_.stop->load(std::memory_order_relaxed); }
  // Several ranks agree on it in each step and each batch of an evaluation.
  bool stop_asked() const { return stop_ || (world_.size() == 1 && stop_here()); }
  void enter(Phase phase) { trainer_.board().enter(0, phase); }
  int64_t steps_per_epoch() const { return setup_.steps_per_epoch(); }

  RunResult lead() {
    enter(Phase::start);
    if (setup_.resumed) {
      resume(*setup_.resumed);
      setup_.resumed->tensors.reset();  // lets go of the file, which retention may remove
    }
    if (options_.on_begin) options_.on_begin();
    if (writes_files()) open_output();
    setup_.keep_tuning(observer_);
    StartInfo info = setup_.start_info(trainer_, total_steps_);
    info.evaluates_again = setup_.resumed && evaluation_due();
    observer_.on_start(info);
    if (step_ > total_steps_) {
      observer_.on_warning(
          fmt::format("nothing is left to train: the checkpoint is of step {}, and the run ends at "
                      "step {}; set more epochs or steps to train on",
                      step_, total_steps_));
    }
    warn_of_small_batches();
    warn_of_skipped_samples();
    tell_dry_evaluation();
    RunResult result;
    try {
      train_data_->start(step_ / steps_per_epoch(), step_ % steps_per_epoch(),
                         1 + total_steps_ / steps_per_epoch());
      progress_.start(step_, *train_data_);
      // The evaluation at the step where this run goes on may have been cut short, or have failed.
      bool repeats = step_ > 0 && evaluation_due();
      if (repeats) evaluate_if_due();
      if (repeats || (setup_.resumed && !setup_.resumed_here())) save_checkpoint();
      while (goes_on()) one_step();
      result = finish();
    } catch (const std::exception& error) {
      PhaseRow at = trainer_.board().read(0);
      try {
        save_held_state();
      } catch (const std::exception& second) {  // the first one is what the run ends with
        observer_.on_warning(second.what());
      }
      Failure verdict = settle_failure(error, at, world_);
      if (tells_of_ranks(verdict)) observer_.on_warning(verdict.table);
      close(static_cast<int>(verdict.category), verdict.text);
      throw to_error(verdict);
    }
    if (std::string lost = observer_.lost(); !lost.empty()) fail(Category::checkpoint, "{}", lost);
    return result;
  }

  bool stopped_early() const { return step_ < total_steps_ && early_stop_.reached(); }
  bool goes_on() const { return step_ < total_steps_ && !stopped_early() && !stop_asked(); }

  void warn_of_skipped_samples() {
    for (const Dataset* data : {setup_.data.train.get(), setup_.data.test.get()}) {
      if (data->skipped() == told_skips_[data]) continue;
      told_skips_[data] = data->skipped();
      observer_.on_warning(fmt::format("{} left out; the first: {}",
                                       counted(data->skipped(), "broken sample"),
                                       data->first_problem()));
    }
  }

  // Statistics of a few samples are mostly noise.
  void warn_of_small_batches() {
    const auto& entries = trainer_.layout().entries();
    bool normalizes = std::any_of(entries.begin(), entries.end(),
                                  [](const ParameterEntry& entry) { return !entry.trained; });
    int64_t samples = setup_.placement.batch_size;
    if (!normalizes || samples >= 8 ||
        setup_.config.model.batch_norm == ModelConfig::BatchNorm::sync)
      return;
    observer_.on_warning(
        fmt::format("batch norm computes its statistics over only {} (those of one tower); set "
                    "batch_norm: sync "
                    "to use all {} of the global batch",
                    counted(samples, "sample"), setup_.placement.global_batch()));
  }

  void tell_dry_evaluation() {
    int64_t all = setup_.data.test->count();
    if (samples_to_evaluate() < all)
      observer_.on_note(fmt::format("a dry run evaluates {} of the {} samples for testing",
                                    samples_to_evaluate(), all));
  }

  // What the ranks were at says nothing about an error that one process has met by itself.
  bool tells_of_ranks(const Failure& verdict) const {
    bool alone = world_.size() == 1 && verdict.category != Category::collective;
    return verdict.rank >= 0 && !verdict.table.empty() && !alone;
  }

  void resume(const LoadedCheckpoint& checkpoint) {
    const StateMetadata& state = checkpoint.state;
    trainer_.restore(state, checkpoint.tensors.get());
    step_ = state.step;
    samples_seen_ = state.samples_seen;
    best_metric_ = state.best_metric;
    best_step_ = state.best_step;
    evaluated_step_ = state.evaluated_step;
    validation_ = {state.evaluated_loss,
                   {setup_.metric(), state.evaluated_metric},
                   best_metric_,
                   evaluated_step_ >= 0};
    early_stop_.restore({state.waited_evaluations, state.waited_from});
    if (!setup_.resumed_here()) return;
    checkpoint_path_ = checkpoint.path.string();
    written_step_ = step_;
    if (!evaluation_due()) saved_step_ = step_;  // else it is written again, with the evaluation
  }

  // Nothing in the run directory changes before all that a run can be refused for was looked at.
  void open_output() {
    if (setup_.resumed_here()) {
      directory_->go_on();
      store_.begin_at(step_, setup_.resumed->path);
    } else {  // with auto: a run that was killed before its first checkpoint begins again
      directory_->begin(options_.overwrite || options_.resume == "auto");
    }
    if (!directory_->locked()) {
      observer_.on_warning(fmt::format(
          "{}: its file system does not support locks; make sure that no other run writes there",
          directory_->path().string()));
    }
    write_config(Category::config);
    directory_->folder("checkpoints");
    auto save = [this](const StateMetadata& state) {
      if (!writable_) throw PermanentError(Category::checkpoint, "the output directory is gone");
      return store_.save(state, trainer_.state(), trainer_.piece());
    };
    writer_.emplace(save, CheckpointWriter::default_backoff(), setup_.placement.helper_cores);
    if (trainer_.sampler())
      samples_.emplace(*setup_.data.test, setup_.task(), setup_.config.eval.samples,
                       directory_->folder("samples"));
  }

  void write_config(Category category) const {
    write_file_atomically(
        directory_->path() / "config.yaml",
        options_.config_yaml.empty() ? to_yaml(setup_.config) : options_.config_yaml, category);
  }

  // Somebody may have removed the run directory. That is told at once, and at the end by the exit
  // code. The weights are still here: they are saved as soon as the ranks' agreement allows it.
  void mend_output() {
    if (!directory_) return;
    std::string lost;
    try {
      lost = directory_->mend();
      writable_ = true;
    } catch (const Error&) {
      writable_ = false;
      throw;
    }
    if (lost.empty()) return;
    write_config(Category::checkpoint);
    observer_.on_warning(fmt::format("output: {}; it is made anew and training goes on", lost));
    if (lost_.empty()) lost_ = fmt::format("output: {}, up to step {}", lost, step_);
    checkpoint_path_.clear();
    save_soon_ = world_.size() == 1;  // others do not know of it, and all take part in a save
  }

  // The step as a run lives it: data, the trainer's step, reports of those that have ended, and
  // what is due after it. GPUs may still read the batches of max_ahead() steps when next() is
  // called, which leaves these alone.
  void one_step() {
    trainer_.board().begin_step(step_ + 1);
    enter(Phase::data);
    const Batch& batch = train_data_->next();
    double lr = schedule_.lr(step_);
    if (!trainer_.keeps_snapshot()) held_step_ = -1;
    trainer_.begin_step(batch, step_, lr, stop_here());
    ++step_;
    report_steps(pauses_here() ? 0 : trainer_.max_ahead());
    after_step();
  }

  // Of steps under way all but the last `ahead`.
  void report_steps(int ahead) {
    while (trainer_.under_way() > ahead) {
      StepResult result = trainer_.finish_step();
      stop_ = stop_ || result.stop;
      samples_seen_ += result.samples;
      StepReport report = progress_.step(result, samples_seen_, *train_data_);
      report.record =
          result.step % setup_.config.log.every_steps == 0 || result.step == total_steps_;
      bool finite = std::isfinite(result.loss) && std::isfinite(result.grad_norm);
      if (!finite && !result.skipped) stop_diverged(result);
      bool first = std::isnan(first_loss_) && !setup_.resumed;
      if (first && !result.skipped) first_loss_ = result.loss;
      if (report.record) mend_output();
      observer_.on_step(report);
    }
  }

  bool checkpoint_due() const {
    const CheckpointConfig& checkpoint = setup_.config.checkpoint;
    bool epoch_ended = step_ % steps_per_epoch() == 0;
    if (save_soon_) return true;
    return due(checkpoint.every_steps, step_) ||
           (epoch_ended && due(checkpoint.every_epochs, step_ / steps_per_epoch()));
  }
  bool check_due() const { return due(setup_.config.check.replicas_every, step_); }
  // Whether something needs the weights as they are after this step.
  bool pauses_here() const {
    return step_ >= total_steps_ || evaluation_due() || checkpoint_due() || check_due();
  }

  void after_step() {
    bool best = evaluate_if_due();
    if (check_due()) trainer_.check_replicas();
    bool save = checkpoint_due() || (best && setup_.config.checkpoint.every_epochs > 0);
    save = save && trainer_.under_way() == 0;  // save_soon_ may have come while a step is
    if (save && step_ < total_steps_) save_checkpoint();  // finish() saves the last
    if (writer_) report_checkpoints();
  }

  [[noreturn]] void stop_diverged(const StepResult& result) {
    std::string saved = written_step_ > 0
                            ? "the last checkpoint is of step " + std::to_string(written_step_)
                            : std::string("there is no checkpoint yet");
    throw SymmetricError(
        Category::diverged,
        fmt::format("step {}: the run diverged: the loss is {}, the gradient norm {}; {}; lower "
                    "optimizer.lr, raise schedule.warmup_epochs or set optimizer.clip_norm",
                    result.step, unsigned_nan(result.loss), unsigned_nan(result.grad_norm), saved));
  }

  static bool due(int64_t every, int64_t count) { return every > 0 && count % every == 0; }

  // At the end of the run, after epochs and steps; not where the step was evaluated already.
  bool evaluation_due() const {
    if (evaluated_step_ == step_) return false;
    const EvalConfig& eval = setup_.config.eval;
    return step_ >= total_steps_ || due(eval.every_epochs * steps_per_epoch(), step_) ||
           due(eval.every_steps, step_);
  }

  // Returns whether it is the best so far.
  bool evaluate_if_due() { return evaluation_due() && !stop_asked() && evaluate(); }

  bool evaluate() {
    hold_state();
    // One that was to be tried again gave its place to this one.
    if (writer_ && writer_->failure()) hand_to_writer(false);
    auto begin = progress_.now();
    EvaluationSums sums;
    enter(Phase::eval);
    trainer_.begin_evaluation();
    test_data_->start(0, 0, 1);
    int64_t batches = 0;
    while (!test_data_->finished() && !stop_asked() && batches++ < max_batches()) {
      enter(Phase::eval);
      trainer_.evaluate(test_data_->next(), sums, stop_here());
      stop_ = sums.stop;
    }
    if (samples_ && !stop_asked()) write_samples();
    trainer_.end_evaluation();
    enter(Phase::idle);
    warn_of_skipped_samples();
    if (sums.samples < samples_to_evaluate()) {  // it runs again when the run is resumed
      progress_.pause(begin);
      return false;
    }
    auto samples = static_cast<double>(sums.samples);
    double loss = sums.loss / samples;
    MetricValue metric = measure(setup_.metric(), loss, sums.score / samples);
    double former = best_step_ < 0 ? std::numeric_limits<double>::quiet_NaN() : best_metric_;
    bool best = better(metric.metric, metric.value, former);
    if (best) {
      best_metric_ = metric.value;
      best_step_ = step_;
    }
    early_stop_.add(best, metric.value);
    validation_ = {loss, metric, shown_best(), true};
    evaluated_step_ = step_;
    warn_of_explosion(loss);
    mend_output();
    observer_.on_eval(
        {step_, progress_.epoch(step_), loss, metric, sums.samples, progress_.pause(begin), best});
    return best;
  }

  // A dry run shows that evaluating works; it evaluates no more batches than it trains on.
  int64_t max_batches() const {
    return writes() ? std::numeric_limits<int64_t>::max() : options_.dry_run;
  }
  int64_t samples_to_evaluate() const {
    int64_t all = setup_.data.test->count(), batch = setup_.placement.global_batch();
    return max_batches() <= all / batch ? max_batches() * batch : all;
  }

  // None where all evaluations were NaN.
  double shown_best() const {
    bool none = best_step_ < 0 && evaluated_step_ >= 0;
    return none ? std::numeric_limits<double>::quiet_NaN() : best_metric_;
  }

  // Losses of a model that learns nothing stay near the first one.
  void warn_of_explosion(double loss) {
    bool exploded = !std::isfinite(loss) || loss > kExplosion * first_loss_;
    if (!exploded || std::exchange(told_explosion_, true)) return;
    observer_.on_warning(
        fmt::format("the run diverges: the loss on the test data is {:.4g}, and it was {:.4g} in "
                    "the first training step; lower optimizer.lr, raise schedule.warmup_epochs, "
                    "set optimizer.clip_norm, or for a table data.normalize: standard",
                    unsigned_nan(loss), unsigned_nan(first_loss_)));
  }

  // A disk that is full spoils an image, not the run.
  void write_samples() {
    try {
      samples_->write(step_, *trainer_.sampler());
    } catch (const Error& error) {
      observer_.on_warning(error.what());
    }
  }

  // last: the state stays as it is.
  void save_checkpoint(bool last = false) {
    if (!writes() || saved()) return;
    hold_state();
    submit_held_state(last);
  }

  // A checkpoint of this step is submitted, and the directory into which it goes is as it was.
  bool saved() const { return saved_step_ == step_ && !save_soon_; }
  bool held() const { return held_step_ == step_ && saved_step_ != step_; }

  // What a checkpoint of this step needs of the trainer. An evaluation may fail on what is no
  // fault of the training, and after a failure ranks do nothing together any more: so this comes
  // before it. All ranks take part; rank 0 holds the state.
  void hold_state() {
    if (!writes() || saved() || held()) return;
    auto begin = progress_.now();
    enter(Phase::checkpoint);
    mend_output();
    trainer_.check_replicas();
    if (writer_) trainer_.describe(writer_->begin());
    trainer_.hold_state();
    enter(Phase::idle);
    held_step_ = step_;
    snapshot_ms_ = progress_.pause(begin) * 1e3;
  }

  void submit_held_state(bool last) {
    saved_step_ = step_;
    save_soon_ = false;
    if (writer_) hand_to_writer(last);
  }

  // Without a snapshot the steps wait for the file, but for the last one's; and what is held is
  // looked up again, as an evaluation has moved it.
  void hand_to_writer(bool last) {
    auto begin = progress_.now();
    enter(Phase::checkpoint);
    if (!trainer_.keeps_snapshot()) trainer_.hold_state();
    describe_progress(writer_->begin());
    trainer_.keeps_snapshot() || last ? writer_->submit() : writer_->write_now();
    enter(Phase::idle);
    snapshot_ms_ += progress_.pause(begin) * 1e3;
  }

  // What the trainer does not know of itself.
  void describe_progress(StateMetadata& state) const {
    state.step = step_;
    state.optimizer_steps = step_ - state.skipped_steps;
    state.epoch = step_ / steps_per_epoch();
    state.step_in_epoch = step_ % steps_per_epoch();
    state.samples_seen = samples_seen_;
    state.seed = setup_.config.seed;
    state.best_metric = best_metric_;
    state.best_step = best_step_;
    state.evaluated_step = evaluated_step_;
    state.evaluated_loss = validation_.loss;
    state.evaluated_metric = validation_.metric.value;
    state.waited_evaluations = early_stop_.state().waited;
    state.waited_from = early_stop_.state().reference;
    state.config_yaml = to_yaml(setup_.config);
    state.data_spec = to_text(setup_.data.test->spec());
    state.tuning = recorded_text(setup_.tuning.get());
    state.versions = setup_.versions;
  }

  // After a failure: the state from before the evaluation that failed is good, and a run that goes
  // on from it does that evaluation again. Before the other ranks hear of the failure, for then all
  // have to end soon. Without a snapshot an evaluation of averaged weights has them in the place of
  // the state.
  void save_held_state() {
    if (!writer_ || !writable_ || !held()) return;
    if (!trainer_.keeps_snapshot() && setup_.config.ema.decay > 0) return;
    submit_held_state(true);
    enter(Phase::checkpoint);
    writer_->stop_retrying();
    writer_->wait_idle();
    report_checkpoints();
    if (writer_->failure()) return;
    observer_.on_warning(fmt::format(
        "the state after step {} was saved before the error below; --resume auto goes on there",
        step_));
  }

  void report_checkpoints() {
    writer_->report([&](const CheckpointResult& result) {
      if (!result.error.empty()) {
        observer_.on_warning(fmt::format("the checkpoint of step {} could not be written: {}{}",
                                         result.step, result.error,
                                         result.final ? "" : "; it will be tried again"));
        return;
      }
      mend_output();
      if (!is_there(result.path)) return;  // removed; mend_output() has told that
      checkpoint_path_ = result.path.string();
      written_step_ = result.step;
      observer_.on_checkpoint(
          {result.step, checkpoint_path_, result.bytes, snapshot_ms_, result.write_ms});
    });
  }

  // Tells of each failed attempt when it happens; a signal ends the patience with a full disk.
  void await_checkpoints() {
    while (!writer_->wait_idle(std::chrono::milliseconds(100))) {
      if (stop_here()) writer_->stop_retrying();
      if (world_.watchdog->failure()) return;
      report_checkpoints();
    }
    report_checkpoints();
  }

  void write_last_checkpoint() {
    save_checkpoint(true);
    if (!writer_) return;
    enter(Phase::checkpoint);
    await_checkpoints();
    enter(Phase::idle);
    if (auto failure = writer_->failure()) {
      fail(Category::checkpoint, "the last checkpoint, of step {}, could not be written: {}", step_,
           *failure);
    }
  }

  // The last checkpoint, the summary, and what the run ends with.
  RunResult finish() {
    report_steps(0);
    bool interrupted = !stopped_early() && (step_ < total_steps_ || evaluation_due());
    if (stopped_early()) tell_early_stop();
    mend_output();
    if (auto hash = trainer_.average_hash()) ema_hash_ = hex(*hash);
    write_last_checkpoint();
    mend_output();
    if (save_soon_) write_last_checkpoint();  // the directory was removed meanwhile
    if (lost_.empty()) lost_ = observer_.lost();
    if (!lost_.empty()) fail(Category::checkpoint, "{}", lost_);
    if (interrupted) return close(static_cast<int>(Category::interrupted), "signal");
    return close(0, stopped_early() ? "early_stop" : "");
  }

  void tell_early_stop() {
    const EarlyStopConfig& config = setup_.config.early_stop;
    std::string least =
        config.min_delta > 0 ? fmt::format(" by {:.6g} or more", config.min_delta) : "";
    observer_.on_note(fmt::format(
        "stopped early at step {}: {} in a row did not improve {}{}; the best was at step {}: {}",
        step_, counted(early_stop_.state().waited, "evaluation"), name(setup_.metric()), least,
        best_step_, metric_text({setup_.metric(), best_metric_})));
  }

  RunResult close(int exit_code, const std::string& stopped_by) {
    RunSummary summary = progress_.summary();
    summary.steps = step_;
    summary.epochs = progress_.epoch(step_);
    summary.val = validation_;
    summary.val.best = shown_best();
    summary.val.metric.metric = setup_.metric();
    summary.parameter_hash = hex(trainer_.parameter_hash());
    summary.ema_hash = ema_hash_;
    for (const auto& device : setup_.placement.devices)
      summary.devices.push_back(to_string(device.id));
    summary.towers = setup_.placement.towers;
    summary.processes = world_.size();
    summary.strategy = word_of(setup_.config.strategy);
    summary.peak_memory_bytes["host_rss"] = peak_resident_bytes();
    for (const auto& device : trainer_.peak_memory()) {
      for (const auto& [kind, bytes] : device) summary.peak_memory_bytes[kind] += bytes;
    }
    for (const auto& device : trainer_.planned_memory()) {
      for (const auto& [kind, bytes] : device) summary.planned_memory_bytes[kind] += bytes;
    }
    summary.exit = exit_code;
    summary.stopped_by = stopped_by;
    if (writes_files()) {
      summary.output = setup_.config.output;
      summary.checkpoint = checkpoint_path_;
      summary.metrics = (fs::path(setup_.config.output) / "metrics.jsonl").string();
    }
    observer_.on_end(summary);
    return {exit_code, summary};
  }

  RunSetup& setup_;
  const RunOptions& options_;
  RunDirectory* directory_;
  World& world_;
  Observer& observer_;
  int64_t total_steps_;
  std::unique_ptr<BatchLoader> train_data_, test_data_;  // before the trainer, which reads them
  Trainer trainer_;
  Schedule schedule_;
  EarlyStop early_stop_;
  CheckpointStore store_;
  std::optional<CheckpointWriter> writer_;
  std::optional<EvaluationSamples> samples_;
  Progress progress_;

  int64_t step_ = 0;          // begun
  int64_t samples_seen_ = 0;  // in steps that have been reported
  int64_t evaluated_step_ = -1;
  int64_t saved_step_ = 0;    // submitted to be written
  int64_t written_step_ = 0;  // on disk
  int64_t held_step_ = -1;    // of the snapshot that is taken, and may not be submitted yet
  double best_metric_ = 0;
  int64_t best_step_ = -1;
  ValidationSummary validation_;
  std::string checkpoint_path_, ema_hash_;
  double snapshot_ms_ = 0;
  bool stop_ = false;
  // The run directory; false: it is gone, or another run has it now. The writer looks at it, too.
  std::atomic<bool> writable_ = true;
  std::string lost_;        // of what the run has written; empty: nothing
  bool save_soon_ = false;  // a checkpoint is due though no interval has ended
  double first_loss_ = std::numeric_limits<double>::quiet_NaN();  // of a run that began here
  bool told_explosion_ = false;
  std::map<const Dataset*, int64_t> told_skips_;  // how many were told of
};

}  // namespace

RunResult train(const RunConfig& config, const RunOptions& options, Observer& observer) {
  std::unique_ptr<World> alone;
  if (!options.world)
    alone = join_world({}, {.cores = allowed_cores(), .on_exit_timeout = options.on_exit_timeout});
  World& world = options.world ? *options.world : *alone;
  Observer silent;
  Observer& heard = world.rank() == 0 ? observer : silent;
  StartWatch start(world, config, options);
  try {
    start.board().enter(0, Phase::start);
    std::optional<RunDirectory> directory;
    if (options.dry_run == 0 && world.rank() == 0) directory.emplace(config.output);
    RunSetup setup(config, options, heard, &start.board());
    setup.tell_changes(heard);
    setup.take_cores();
    RunResult result = Run(setup, options, world, directory ? &*directory : nullptr, heard).go();
    world.watchdog->leave();
    if (auto failure = world.watchdog->failure()) throw to_error(*failure);
    return result;
  } catch (const std::exception& error) {
    throw to_error(settle_failure(error, start.board().read(0), world));
  }
}

}  // namespace spire
