// evaluate(): the metrics of a checkpoint on the test data.
#include <spire/train.h>

#include "engine/checkpoint/checkpoint_locator.h"
#include "engine/run/run_data.h"
#include "engine/run/run_setup.h"

namespace spire {

EvalResult evaluate(const RunConfig& config, const RunOptions& options, Observer& observer) {
  RunOptions at_checkpoint = options;
  std::optional<LoadedCheckpoint> found;
  if (options.checkpoint == nullptr) {
    CheckpointLocator locator(options.resume.value_or(config.output), config.output, Prefer::best);
    found = locator.load([&](const auto&, const std::string& text) { observer.on_warning(text); });
    at_checkpoint.checkpoint = &*found;
  }
  const LoadedCheckpoint& checkpoint = *at_checkpoint.checkpoint;
  at_checkpoint.resume = checkpoint.path.string();
  at_checkpoint.evaluates = true;
  RunSetup setup(config, at_checkpoint, observer);
  setup.take_cores();
  TrainerOptions trainer_options = setup.trainer_options();
  trainer_options.snapshot = SnapshotChoice::never;
  // Streams of the trainer's devices may still copy a batch when it ends: the loader outlives it.
  auto data = test_loader(setup.config, setup.data, setup.placement);
  Trainer trainer(trainer_options, setup.placement);
  setup.keep_tuning(observer);
  EvaluationSums sums;
  if (options.on_begin) options.on_begin();
  trainer.team().lead([&] {
    trainer.restore(setup.resumed->state, setup.resumed->tensors.get());
    trainer.begin_evaluation();
    data->start(0, 0, 1);
    while (!data->finished()) {
      if (options.stop && options.stop->load())
        fail(Category::interrupted, "evaluation stopped by a signal");
      trainer.evaluate(data->next(), sums);
    }
  });
  auto samples = static_cast<double>(sums.samples);
  double loss = sums.loss / samples;
  return {loss, measure(setup.metric(), loss, sums.score / samples), sums.samples,
          checkpoint.path.string()};
}

}  // namespace spire
