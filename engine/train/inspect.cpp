// What looks at a run without training it: evaluate, plan, check.
#include <spire/train/run.h>
#include <spire/train/run_setup.h>

#include <spire/observe/blocks.h>
#include <spire/train/checkpoint_file.h>

namespace spire {
namespace {

// The checkpoint that options name: a file, "auto" (newest good), or by default the best, else the
// newest.
LoadedCheckpoint checkpoint_to_evaluate(const RunConfig& config, const RunOptions& options,
                                        Observer& observer) {
  namespace fs = std::filesystem;
  CheckpointStore store(fs::path(config.output) / "checkpoints", {});
  std::optional<fs::path> path;
  if (options.resume && *options.resume != "auto") path = *options.resume;
  if (!options.resume) path = store.best();
  if (path) return {*path, read_checkpoint(*path)};
  auto newest = store.newest_good([&](const fs::path& bad, const std::string& reason) {
    observer.on_warning(fmt::format("{}: passed over: {}", bad.string(), reason));
  });
  if (!newest) {
    fail(Category::checkpoint,
         "{} holds no checkpoint; train first, or name one with --resume PATH",
         (fs::path(config.output) / "checkpoints").string());
  }
  return std::move(*newest);
}

}  // namespace

EvalResult evaluate(const RunConfig& config, const RunOptions& options, Observer& observer) {
  LoadedCheckpoint checkpoint = checkpoint_to_evaluate(config, options, observer);
  RunOptions at_checkpoint = options;
  at_checkpoint.resume = checkpoint.path.string();
  RunSetup setup(config, at_checkpoint, observer);
  Trainer trainer(setup.trainer_options(), setup.placement);
  auto data = setup.test_loader();
  EvaluationSums sums;
  trainer.team().lead([&] {
    trainer.restore(setup.resumed->state);
    trainer.begin_evaluation();
    data->start(0, 0, 1);
    while (!data->finished()) {
      if (options.stop && options.stop->load())
        fail(Category::interrupted, "evaluation stopped by a signal");
      trainer.evaluate(data->next(), sums);
    }
  });
  auto samples = static_cast<double>(sums.samples);
  return {sums.loss / samples, sums.correct / samples, sums.samples, checkpoint.path.string()};
}

PlanReport plan(const RunConfig& config) {
  Observer silent;
  RunSetup setup(config, {}, silent);
  Trainer trainer(setup.trainer_options(), setup.placement);
  return {setup.start_info(trainer, setup.total_steps())};
}

std::string to_text(const PlanReport& report) {
  return start_block(report.start);
}

void check(const RunConfig& config) {
  plan(config);
}

}  // namespace spire
