#include "engine/run/run_checkpoints.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/base/write_file.h"
#include "engine/config/text.h"
#include "engine/process/watchdog/watchdog.h"

namespace spire {
namespace {

CheckpointStore store_of(const RunSetup& setup, const RunOutput& output) {  // which outlive it
  const CheckpointConfig& config = setup.config.checkpoint;
  Retention retention{.keep_last = config.keep_last, .keep_every = config.keep_every_steps};
  if (setup.config.guard.on_bad_step == GuardConfig::OnBadStep::rollback)
    retention.rollback_step = [&setup](int64_t saved) {
      return regular_checkpoint_before(setup.config.checkpoint, setup.steps_per_epoch(), saved + 1);
    };
  retention.is_ours = [&output](const std::string& name) { return output.wrote_checkpoint(name); };
  return {std::filesystem::path(setup.config.output) / "checkpoints", std::move(retention)};
}

}  // namespace

int64_t regular_checkpoint_before(const CheckpointConfig& config, int64_t steps_per_epoch,
                                  int64_t step) {
  int64_t newest = 0;
  for (int64_t every : {config.every_steps, config.every_epochs * steps_per_epoch})
    if (every > 0) newest = std::max(newest, (step - 1) / every * every);
  return newest;
}

RunCheckpoints::RunCheckpoints(RunContext& run, RunOutput& output)
    : run_(run), output_(output), store_(store_of(run.setup, output)) {}

void RunCheckpoints::continue_from(const LoadedCheckpoint& checkpoint, bool rewrite) {
  path_ = checkpoint.path.string();
  written_step_ = run_.progress.step;
  if (!rewrite) saved_step_ = run_.progress.step;
}

void RunCheckpoints::open() {
  output_.begin();
  if (run_.setup.resumed_here) store_.remove_after(run_.progress.step, run_.setup.resumed->path);
  output_.write_config();
  output_.folder("checkpoints");
  warn_of_others();
  take_best();
  auto save = [this](const StateMetadata& state) {
    if (!output_.is_writable())
      throw PermanentError(Category::checkpoint, "the output directory is gone");
    return store_.save(state, run_.trainer.state(), run_.trainer.piece());
  };
  writer_.emplace(save, CheckpointWriter::default_retry_delays(),
                  run_.setup.placement.helper_cores);
}

void RunCheckpoints::warn_of_others() const {
  std::vector<std::string> names;
  for (const auto& path : store_.of_others()) names.push_back(path.filename().string());
  if (names.empty()) return;
  run_.observer.on_warning(fmt::format(
      "{} has {} that this run did not write: {}; the run leaves what it did not write as it is, "
      "and --resume would take the newest of all",
      (std::filesystem::path(run_.setup.config.output) / "checkpoints").string(),
      counted(std::ssize(names), "checkpoint"), quoted_list(names)));
}

// A run that branches off takes the best checkpoint with it: its test figures are then those of a
// run that did not.
void RunCheckpoints::take_best() {
  const RunSetup& setup = run_.setup;
  int64_t best = run_.progress.best_step;
  if (!setup.resumed || setup.resumed_here || best < 0 || best == run_.progress.step) return;
  std::filesystem::path to = store_.path_of(best);
  try {
    if (!is_there(to)) output_.expect_checkpoint(to.filename().string());
    store_.take_from(setup.resumed->path.parent_path(), best);
  } catch (const Error& error) {
    run_.observer.on_warning(error.what());
  }
}

bool RunCheckpoints::due() const {
  int64_t step = run_.progress.step;
  const CheckpointConfig& config = run_.setup.config.checkpoint;
  return urgent_ ||
         (step > 0 && regular_checkpoint_before(config, run_.steps_per_epoch(), step + 1) == step);
}

int64_t RunCheckpoints::regular_before(int64_t step) const {
  if (!run_.writes()) return 0;
  return regular_checkpoint_before(run_.setup.config.checkpoint, run_.steps_per_epoch(), step);
}

LoadedCheckpoint RunCheckpoints::load(int64_t step) {
  run_.enter(Phase::checkpoint);
  LoadedCheckpoint loaded;
  if (run_.world.rank() == 0) {
    if (writer_) await_writer();
    std::filesystem::path path = store_.path_of(step);
    if (!is_there(path))
      fail(Category::checkpoint,
           "guard.on_bad_step: rollback goes back to step {}, and {} is not there: it was removed "
           "or not written, or the run began elsewhere or with other checkpoint.every_steps; "
           "resume with guard.on_bad_step: skip",
           step, path.string());
    loaded = load_checkpoint(path);
  }
  share(loaded);
  run_.enter(Phase::idle);
  return loaded;
}

// Gives all ranks rank 0's metadata.
void RunCheckpoints::share(LoadedCheckpoint& loaded) const {
  if (!run_.setup.ranks.group()) return;
  std::string guard = run_.setup.ranks.broadcast(loaded.state.guard);
  std::string text = run_.setup.ranks.broadcast(metadata_text(loaded.state));
  read_metadata_text(text, loaded.state);
  loaded.state.guard = guard;
}

std::optional<LoadedCheckpoint> RunCheckpoints::best_here() const {
  std::filesystem::path path = store_.path_of(run_.progress.best_step);
  if (!writer_) return {};
  std::string problem;
  try {
    if (is_there(path)) return load_checkpoint(path);
    problem = fmt::format("{}, the best checkpoint, is not there", path.string());
  } catch (const Error& error) {
    problem = error.what();
  }
  run_.observer.on_warning(
      fmt::format("{}; the test data is evaluated with the last weights instead", problem));
  return {};
}

std::optional<LoadedCheckpoint> RunCheckpoints::load_best() {
  if (run_.progress.best_step < 0 || run_.progress.best_step == run_.progress.step) return {};
  run_.enter(Phase::checkpoint);
  std::optional<LoadedCheckpoint> best = best_here();
  bool found = best.has_value();
  if (run_.setup.ranks.group()) found = run_.setup.ranks.broadcast(found ? "found" : "") == "found";
  if (found) {
    if (!best) best.emplace();
    share(*best);
  }
  run_.enter(Phase::idle);
  return best;
}

void RunCheckpoints::begin_step() {
  if (!run_.trainer.keeps_snapshot()) captured_step_ = -1;
}

// A checkpoint of this step is submitted, and the directory into which it goes is not lost.
bool RunCheckpoints::is_saved() const {
  return saved_step_ == run_.progress.step && !urgent_;
}

bool RunCheckpoints::is_captured() const {
  return captured_step_ == run_.progress.step && saved_step_ != run_.progress.step;
}

void RunCheckpoints::capture() {
  if (!run_.writes() || is_saved() || is_captured()) return;
  auto begin = run_.clock.now();
  run_.enter(Phase::checkpoint);
  restore_output();
  run_.trainer.check_replicas();
  if (writer_) run_.trainer.describe(writer_->begin());
  run_.trainer.capture_state();
  run_.enter(Phase::idle);
  captured_step_ = run_.progress.step;
  snapshot_ms_ = run_.clock.pause(begin) * 1e3;
}

void RunCheckpoints::save(bool last) {
  if (!run_.writes() || is_saved()) return;
  capture();
  submit_captured(last);
}

void RunCheckpoints::replace_failed() {
  if (writer_ && writer_->failure()) hand_to_writer(false);
}

void RunCheckpoints::submit_captured(bool last) {
  saved_step_ = run_.progress.step;
  urgent_ = false;
  if (writer_) hand_to_writer(last);
}

// Without a snapshot the steps wait for the file, except after the last one. The state is then
// located again, as an evaluation has moved it.
void RunCheckpoints::hand_to_writer(bool last) {
  auto begin = run_.clock.now();
  run_.enter(Phase::checkpoint);
  if (!run_.trainer.keeps_snapshot()) run_.trainer.capture_state();
  fill(writer_->begin());  // which waits for the writer's thread
  output_.expect_checkpoint(store_.path_of(run_.progress.step).filename().string());
  run_.trainer.keeps_snapshot() || last ? writer_->submit() : writer_->write_now();
  run_.enter(Phase::idle);
  snapshot_ms_ += run_.clock.pause(begin) * 1e3;
}

// Adds the run's part to the metadata; capture() has filled in the trainer's.
void RunCheckpoints::fill(StateMetadata& state) const {
  static_cast<TrainingProgress&>(state) = run_.progress;
  state.audit = run_.audit.text();
  run_.setup.describe(state, run_.guard);
}

void RunCheckpoints::save_after_failure() {
  if (!writer_ || !output_.is_writable() || !is_captured()) return;
  // Without a snapshot, an evaluation of averaged weights has them in the place of the state.
  if (!run_.trainer.keeps_snapshot() && run_.setup.config.ema.decay > 0) return;
  submit_captured(true);
  run_.enter(Phase::checkpoint);
  writer_->stop_retrying();
  writer_->wait_idle();
  report();
  if (writer_->failure()) return;
  run_.observer.on_warning(fmt::format(
      "the state after step {} was saved before the error below; --resume auto goes on there",
      run_.progress.step));
}

void RunCheckpoints::report() {
  if (!writer_) return;
  writer_->report([this](const CheckpointResult& result) { report_result(result); });
}

void RunCheckpoints::report_result(const CheckpointResult& result) {
  if (!result.error.empty()) {
    run_.observer.on_warning(fmt::format("the checkpoint of step {} could not be written: {}{}",
                                         result.step, result.error,
                                         result.final ? "" : "; it will be tried again"));
    return;
  }
  restore_output();
  if (!is_there(result.path)) return;  // removed; restore_output() has reported that
  path_ = result.path.string();
  written_step_ = result.step;
  if (run_.limit) run_.limit->took_checkpoint((snapshot_ms_ + result.write_ms) / 1e3);
  run_.observer.on_checkpoint({result.step, path_, result.bytes, snapshot_ms_, result.write_ms});
}

// Reports each failed attempt when it happens. A signal ends the retries on a full disk.
void RunCheckpoints::await_writer() {
  while (!writer_->wait_idle(std::chrono::milliseconds(100))) {
    if (run_.stop_here()) writer_->stop_retrying();
    if (run_.world.watchdog->failure()) return;
    report();
  }
  report();
}

void RunCheckpoints::save_last() {
  save(true);
  if (!writer_) return;
  run_.enter(Phase::checkpoint);
  await_writer();
  run_.enter(Phase::idle);
  if (auto failure = writer_->failure()) {
    fail(writer_->failure_category(), "the last checkpoint, of step {}, could not be written: {}",
         run_.progress.step, *failure);
  }
}

// Urgent in a run of one process only: the other ranks do not know of the loss, and all take part
// in a checkpoint.
void RunCheckpoints::restore_output() {
  if (!output_.restore(run_.progress.step)) return;
  path_.clear();
  urgent_ = run_.world.size() == 1;
}

}  // namespace spire
