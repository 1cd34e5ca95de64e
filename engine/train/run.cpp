#include <spire/train/run.h>

#include <chrono>
#include <cmath>

#include <spire/base/atomic_file.h>
#include <spire/base/hash.h>
#include <spire/config/text.h>
#include <spire/optim/schedule.h>
#include <spire/train/checkpoint_writer.h>
#include <spire/train/progress.h>
#include <spire/train/run_setup.h>

namespace spire {
namespace {

namespace fs = std::filesystem;

// One run from its first step to its summary. All of it happens on the leading lane's thread.
class Run {
 public:
  Run(RunSetup& setup, const RunOptions& options, Observer& observer)
      : setup_(setup),
        options_(options),
        observer_(observer),
        total_steps_(options.dry_run > 0 ? options.dry_run : setup.total_steps()),
        trainer_(setup.trainer_options(), setup.placement),
        train_data_(setup.train_loader()),
        test_data_(setup.test_loader()),
        schedule_(setup.config.schedule, setup.config.optimizer.lr, setup.total_steps(),
                  setup.steps_per_epoch()),
        store_(setup.store()),
        progress_(total_steps_, setup.steps_per_epoch()) {}

  RunResult go() {
    RunResult result;
    trainer_.team().lead([&] { result = lead(); });
    return result;
  }

 private:
  bool writes() const { return options_.dry_run == 0; }
  bool stop_asked() const {
    return options_.stop && options_.stop->load(std::memory_order_relaxed);
  }
  int64_t steps_per_epoch() const { return setup_.steps_per_epoch(); }

  RunResult lead() {
    if (setup_.resumed) resume(*setup_.resumed);
    if (writes()) open_output();
    observer_.on_start(setup_.start_info(trainer_, total_steps_));
    if (step_ > total_steps_) {
      observer_.on_warning(
          fmt::format("nothing is left to train: the checkpoint is of step {}, the run ends at {}",
                      step_, total_steps_));
    }
    try {
      train_data_->start(step_ / steps_per_epoch(), step_ % steps_per_epoch(),
                         1 + total_steps_ / steps_per_epoch());
      progress_.start(step_, *train_data_);
      // A signal may have cut short the evaluation at the step where this run goes on.
      bool best = step_ > 0 && evaluate_if_due();
      if (best || (setup_.resumed && !setup_.resumed_here())) save_checkpoint();
      while (step_ < total_steps_ && !stop_asked()) one_step();
      return finish();
    } catch (const Error& error) {
      close(error.exit_code(), error.what());
      throw;
    }
  }

  void resume(const LoadedCheckpoint& checkpoint) {
    const TrainingState& state = checkpoint.state;
    trainer_.restore(state);
    step_ = state.step;
    samples_seen_ = state.samples_seen;
    best_accuracy_ = state.best_metric;
    best_step_ = state.best_step;
    evaluated_step_ = state.evaluated_step;
    validation_ = {state.evaluated_loss, state.evaluated_accuracy, best_accuracy_,
                   evaluated_step_ >= 0};
    if (!setup_.resumed_here()) return;
    checkpoint_path_ = checkpoint.path.string();
    if (!evaluation_due()) saved_step_ = step_;  // else it is written again, with the evaluation
  }

  // Nothing in the run directory changes before all that a run can be refused for was looked at.
  void open_output() {
    const std::string& output = setup_.config.output;
    if (setup_.resumed_here()) {
      store_.begin_at(step_);
    } else {  // with auto: a run that was killed before its first checkpoint begins again
      prepare_output(output, options_.overwrite || options_.resume == "auto");
    }
    write_file_atomically(
        fs::path(output) / "config.yaml",
        options_.config_yaml.empty() ? to_yaml(setup_.config) : options_.config_yaml,
        Category::config);
    writer_.emplace([this](const TrainingState& state) { return store_.save(state); });
  }

  // The step as a run lives it: data, the trainer's step, report, and what is due after it.
  void one_step() {
    const Batch& batch = train_data_->next();
    double lr = schedule_.lr(step_);
    StepResult result = trainer_.step(batch, step_, lr);
    ++step_;
    samples_seen_ += batch.valid;
    StepReport report = progress_.step(result, batch.valid, lr, samples_seen_, *train_data_);
    report.record = step_ % setup_.config.log.every_steps == 0 || step_ == total_steps_;
    if (!std::isfinite(result.loss) || !std::isfinite(result.grad_norm)) stop_diverged(result);
    observer_.on_step(report);
    after_step();
  }

  void after_step() {
    bool epoch_ended = step_ % steps_per_epoch() == 0;
    int64_t epoch = step_ / steps_per_epoch();
    auto due = [&](int64_t every, int64_t count) { return every > 0 && count % every == 0; };
    bool best = evaluate_if_due();
    const CheckpointConfig& checkpoint = setup_.config.checkpoint;
    bool save = due(checkpoint.every_steps, step_) ||
                (epoch_ended &&
                 (due(checkpoint.every_epochs, epoch) || (best && checkpoint.every_epochs > 0)));
    if (save && step_ < total_steps_) save_checkpoint();  // finish() saves the last
    if (writer_) report_checkpoints();
  }

  [[noreturn]] void stop_diverged(const StepResult& result) {
    std::string saved = saved_step_ > 0
                            ? "the last checkpoint is of step " + std::to_string(saved_step_)
                            : std::string("there is no checkpoint yet");
    fail(Category::diverged,
         "step {}: the loss is {} (gradient norm {}); {}; lower optimizer.lr, lengthen "
         "schedule.warmup_epochs or set optimizer.clip_norm",
         step_, result.loss, result.grad_norm, saved);
  }

  // At the end of the run and of epochs; not where the step was evaluated already.
  bool evaluation_due() const {
    if (evaluated_step_ == step_) return false;
    int64_t every = setup_.config.eval.every_epochs;
    return step_ >= total_steps_ || (every > 0 && step_ % (every * steps_per_epoch()) == 0);
  }

  // Returns whether it is the best so far.
  bool evaluate_if_due() { return evaluation_due() && !stop_asked() && evaluate(); }

  bool evaluate() {
    auto begin = progress_.now();
    EvaluationSums sums;
    trainer_.begin_evaluation();
    test_data_->start(0, 0, 1);
    while (!test_data_->finished()) {
      if (stop_asked()) {  // not finished: it runs again when the run is resumed
        progress_.pause(begin);
        return false;
      }
      trainer_.evaluate(test_data_->next(), sums);
    }
    auto samples = static_cast<double>(sums.samples);
    validation_ = {sums.loss / samples, sums.correct / samples, 0, true};
    bool best = best_step_ < 0 || validation_.accuracy > best_accuracy_;
    if (best) {
      best_accuracy_ = validation_.accuracy;
      best_step_ = step_;
    }
    validation_.best_accuracy = best_accuracy_;
    evaluated_step_ = step_;
    observer_.on_eval({step_, progress_.epoch(step_), validation_.loss, validation_.accuracy,
                       sums.samples, progress_.pause(begin), best});
    return best;
  }

  void save_checkpoint() {
    if (!writer_ || saved_step_ == step_) return;
    auto begin = progress_.now();
    TrainingState& state = writer_->buffer();
    trainer_.snapshot(state);
    state.step = state.optimizer_steps = step_;
    state.epoch = step_ / steps_per_epoch();
    state.step_in_epoch = step_ % steps_per_epoch();
    state.samples_seen = samples_seen_;
    state.seed = setup_.config.seed;
    state.best_metric = best_accuracy_;
    state.best_step = best_step_;
    state.evaluated_step = evaluated_step_;
    state.evaluated_loss = validation_.loss;
    state.evaluated_accuracy = validation_.accuracy;
    state.config_yaml = to_yaml(setup_.config);
    writer_->submit();
    saved_step_ = step_;
    snapshot_ms_ = progress_.pause(begin) * 1e3;
  }

  void report_checkpoints() {
    writer_->report([&](const CheckpointResult& result) {
      if (!result.error.empty()) {
        observer_.on_warning(fmt::format("checkpoint of step {} could not be written: {}{}",
                                         result.step, result.error,
                                         result.final ? "" : "; it will be tried again"));
        return;
      }
      checkpoint_path_ = result.path.string();
      observer_.on_checkpoint(
          {result.step, checkpoint_path_, result.bytes, snapshot_ms_, result.write_ms});
    });
  }

  // Tells of each failed attempt when it happens; a signal ends the patience with a full disk.
  void await_checkpoints() {
    while (!writer_->wait_idle(std::chrono::milliseconds(100))) {
      if (stop_asked()) writer_->stop_retrying();
      report_checkpoints();
    }
    report_checkpoints();
  }

  // The last checkpoint, the summary, and what the run ends with.
  RunResult finish() {
    bool interrupted = step_ < total_steps_ || evaluation_due();
    save_checkpoint();
    if (writer_) {
      await_checkpoints();
      if (auto failure = writer_->failure()) {
        fail(Category::checkpoint, "the last checkpoint, of step {}, could not be written: {}",
             step_, *failure);
      }
    }
    return close(interrupted ? static_cast<int>(Category::interrupted) : 0,
                 interrupted ? "signal" : "");
  }

  RunResult close(int exit_code, const std::string& stopped_by) {
    RunSummary summary = progress_.summary();
    summary.steps = step_;
    summary.epochs = progress_.epoch(step_);
    summary.val = validation_;
    summary.val.best_accuracy = best_accuracy_;
    summary.parameter_hash = hex(trainer_.parameter_hash());
    for (const auto& device : setup_.placement.devices)
      summary.devices.push_back(to_string(device.id));
    summary.towers = setup_.placement.towers;
    summary.peak_memory_bytes["host_rss"] = peak_resident_bytes();
    for (const auto& device : trainer_.planned_memory()) {
      for (const auto& [kind, bytes] : device) summary.peak_memory_bytes[kind] += bytes;
    }
    summary.exit = exit_code;
    summary.stopped_by = stopped_by;
    if (writes()) {
      summary.output = setup_.config.output;
      summary.checkpoint = checkpoint_path_;
      summary.metrics = (fs::path(setup_.config.output) / "metrics.jsonl").string();
    }
    observer_.on_end(summary);
    return {exit_code, summary};
  }

  RunSetup& setup_;
  const RunOptions& options_;
  Observer& observer_;
  int64_t total_steps_;
  Trainer trainer_;
  std::unique_ptr<BatchLoader> train_data_, test_data_;
  Schedule schedule_;
  CheckpointStore store_;
  std::optional<CheckpointWriter> writer_;
  Progress progress_;

  int64_t step_ = 0, samples_seen_ = 0;
  int64_t evaluated_step_ = -1, saved_step_ = 0;
  double best_accuracy_ = 0;
  int64_t best_step_ = -1;
  ValidationSummary validation_;
  std::string checkpoint_path_;
  double snapshot_ms_ = 0;
};

}  // namespace

RunResult train(const RunConfig& config, const RunOptions& options, Observer& observer) {
  RunSetup setup(config, options, observer);
  setup.tell_changes(observer);
  return Run(setup, options, observer).go();
}

}  // namespace spire
