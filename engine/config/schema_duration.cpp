// Keys of the length of a run, and of its checkpoints, logs and deadlines.
#include "engine/config/schema_parts.h"

namespace spire::inline config::schema_parts {

namespace {

// Seconds. Up to 1e9 they fit into 64 bits as nanoseconds.
constexpr Range wait_range = {.low = 0, .high = 1e9, .low_open = true};

}  // namespace

// The length of a run changes its result, and so does early stopping; evaluations do not.
std::vector<Field> course_fields() {
  return {
      {.path = "epochs",
       .slot = [](C& c) -> Slot { return &c.epochs; },
       .help = "length of the run in passes over the data",
       .range = at_least(0, max_size),
       .unit = "epochs"},
      {.path = "steps",
       .slot = [](C& c) -> Slot { return &c.steps; },
       .help = "length of the run in steps; wins over epochs when given",
       .range = at_least(1, max_steps),
       .unit = "steps",
       .unset = "as many as the epochs have"},
      {.path = "max_time",
       .slot = [](C& c) -> Slot { return &c.max_time; },
       .help = "stop with a checkpoint and exit code 75 before the process has run for so long "
               "(8h, 90m); 0: no limit",
       .range = at_least(0, 1e9),
       .unit = "seconds",
       .shapes_result = false},
      {.path = "eval.every_epochs",
       .slot = [](C& c) -> Slot { return &c.eval.every_epochs; },
       .help = "epochs between two evaluations; 0: none by epochs; the end is always evaluated",
       .range = at_least(0, max_size),
       .unit = "epochs",
       .shapes_result = false},
      {.path = "eval.every_steps",
       .slot = [](C& c) -> Slot { return &c.eval.every_steps; },
       .help = "further evaluations every so many steps; 0: none",
       .range = at_least(0, max_steps),
       .unit = "steps",
       .shapes_result = false},
      {.path = "eval.samples",
       .slot = [](C& c) -> Slot { return &c.eval.samples; },
       .help = "image and text models: each evaluation writes what the model makes of this many "
               "test samples to OUTPUT/samples",
       .range = at_least(0, 1024),
       .shapes_result = false},
      {.path = "eval.metrics",
       .slot = [](C& c) -> Slot { return &c.eval.metrics; },
       .help = "further metrics of each evaluation, from the outputs for all its samples; "
               "confusion: the confusion matrix as a file; docs/metrics.md says which suit what",
       .choices = {"loss", "top3", "top5", "f1_macro", "f1_micro", "auc", "r2", "mae",
                   "bits_per_byte", "confusion"},
       .shapes_result = false},
      {.path = "best.metric",
       .slot = [](C& c) -> Slot { return &c.best.metric; },
       .help = "which metric decides what checkpoint is best and when to stop early; auto: the "
               "task's",
       .choices = {"auto", "accuracy", "perplexity", "psnr", "rmse", "score", "error", "loss",
                   "top3", "top5", "f1_macro", "f1_micro", "auc", "exact_match", "r2", "mae",
                   "bits_per_byte"}},
      {.path = "best.mode",
       .slot = [](C& c) -> Slot { return &c.best.mode; },
       .help = "whether a higher (max) or a lower (min) value is better; auto: as the metric has "
               "it"},
      {.path = "early_stop.patience",
       .slot = [](C& c) -> Slot { return &c.early_stop.patience; },
       .help = "stop after this many evaluations in a row without a better metric; 0: never",
       .range = at_least(0, max_size),
       .unit = "evaluations"},
      {.path = "early_stop.min_delta",
       .slot = [](C& c) -> Slot { return &c.early_stop.min_delta; },
       .help = "smallest change of the metric that counts as better",
       .range = at_least(0)},
      {.path = "seed",
       .slot = [](C& c) -> Slot { return &c.seed; },
       .help = "seed of every random number of the run",
       .shapes_result = false},
      {.path = "output",
       .slot = [](C& c) -> Slot { return &c.output; },
       .help = "run directory, relative to where the trainer is started",
       .shapes_result = false},
  };
}

// They change the result only of a run that has bad steps.
std::vector<Field> guard_fields() {
  return {
      {.path = "guard.on_bad_step",
       .slot = [](C& c) -> Slot { return &c.guard.on_bad_step; },
       .help =
           "when loss or gradient are not finite or stand out: stop the run, skip the step's "
           "update, or roll back to the last regular checkpoint and leave out the samples since"},
      {.path = "guard.loss_zscore",
       .slot = [](C& c) -> Slot { return &c.guard.loss_zscore; },
       .help = "a loss so many standard deviations above the mean of the window is bad; 0: off",
       .range = at_least(0)},
      {.path = "guard.grad_zscore",
       .slot = [](C& c) -> Slot { return &c.guard.grad_zscore; },
       .help = "the same for the norm of the gradient",
       .range = at_least(0)},
      {.path = "guard.window",
       .slot = [](C& c) -> Slot { return &c.guard.window; },
       .help = "good steps of which the guard knows mean and deviation; it judges none before",
       .range = at_least(2, 10000),
       .unit = "steps"},
      {.path = "guard.max_skips",
       .slot = [](C& c) -> Slot { return &c.guard.max_skips; },
       .help = "bad steps in a row, rollbacks included, that are left out; one more ends the run",
       .range = at_least(1, max_steps),
       .unit = "steps"},
      {.path = "guard.max_rollbacks",
       .slot = [](C& c) -> Slot { return &c.guard.max_rollbacks; },
       .help = "rollbacks of a run; one more ends it",
       .range = at_least(0, max_steps)},
  };
}

// Records of a run. None of them changes a weight.
std::vector<Field> record_fields() {
  return {
      {.path = "checkpoint.every_steps",
       .slot = [](C& c) -> Slot { return &c.checkpoint.every_steps; },
       .help = "steps between two checkpoints; 0: none by steps",
       .range = at_least(0, max_steps),
       .unit = "steps",
       .shapes_result = false},
      {.path = "checkpoint.every_epochs",
       .slot = [](C& c) -> Slot { return &c.checkpoint.every_epochs; },
       .help = "epochs between two checkpoints; 0: none by epochs",
       .range = at_least(0, max_size),
       .unit = "epochs",
       .shapes_result = false},
      {.path = "checkpoint.keep_last",
       .slot = [](C& c) -> Slot { return &c.checkpoint.keep_last; },
       .help = "number of newest checkpoints to keep, in addition to the best one",
       .range = at_least(1, max_size),
       .shapes_result = false},
      {.path = "checkpoint.keep_every_steps",
       .slot = [](C& c) -> Slot { return &c.checkpoint.keep_every_steps; },
       .help = "never delete checkpoints whose step is a multiple of this; 0: none",
       .range = at_least(0, max_steps),
       .unit = "steps",
       .shapes_result = false},
      {.path = "checkpoint.snapshot",
       .slot = [](C& c) -> Slot { return &c.checkpoint.snapshot; },
       .help = "write from a copy of the state while training goes on; never: steps wait until it "
               "is written; auto: a copy where steps follow and memory is left for one",
       .shapes_result = false},
      // All devices must have the same weights, bit for bit.
      {.path = "check.replicas_every",
       .slot = [](C& c) -> Slot { return &c.check.replicas_every; },
       .help =
           "steps between two comparisons of the weights on all devices; 0: only at checkpoints",
       .range = at_least(0, max_steps),
       .unit = "steps",
       .shapes_result = false},
      {.path = "audit.chain",
       .slot = [](C& c) -> Slot { return &c.audit.chain; },
       .help = "chain the records of all steps by a cryptographic hash, in OUTPUT/audit.jsonl and "
               "checkpoints, for trainer audit",
       .shapes_result = false},
      {.path = "audit.weights_every_steps",
       .slot = [](C& c) -> Slot { return &c.audit.weights_every_steps; },
       .help = "steps between two hashes of every tensor of the weights in the chain; auto: 100 up "
               "to a million parameters, for larger models up to 1000",
       .range = at_least(1, max_steps),
       .unit = "steps",
       .zero = "auto",
       .shapes_result = false},
      {.path = "log.every_steps",
       .slot = [](C& c) -> Slot { return &c.log.every_steps; },
       .help = "steps between two lines of metrics.jsonl",
       .range = at_least(1, max_steps),
       .unit = "steps",
       .shapes_result = false},
      {.path = "log.hash_every_steps",
       .slot = [](C& c) -> Slot { return &c.log.hash_every_steps; },
       .help = "steps between two hashes of all weights in metrics.jsonl, which trainer compare "
               "reads; 0: none",
       .range = at_least(0, max_steps),
       .unit = "steps",
       .shapes_result = false},
      {.path = "log.every_seconds",
       .slot = [](C& c) -> Slot { return &c.log.every_seconds; },
       .help = "time between two progress lines when stderr is not a terminal",
       .range = above(0),
       .unit = "seconds",
       .shapes_result = false},
      {.path = "log.tensorboard",
       .slot = [](C& c) -> Slot { return &c.log.tensorboard; },
       .help = "write what metrics.jsonl has as TensorBoard event files, too: OUTPUT/tensorboard",
       .shapes_result = false},
      {.path = "timeouts.devices",
       .slot = [](C& c) -> Slot { return &c.timeouts.devices; },
       .help = "devices: auto:N waits so long until N GPUs are idle; 0: fail at once",
       .range = {.low = 0, .high = 1e9},
       .unit = "seconds",
       .shapes_result = false},
      // A thread that stays in one phase for longer ends the run with an error
      // (engine/process/watchdog).
      {.path = "timeouts.start",
       .slot = [](C& c) -> Slot { return &c.timeouts.start; },
       .help = "longest time until all processes of the run are connected and ready",
       .range = wait_range,
       .unit = "seconds",
       .shapes_result = false},
      {.path = "timeouts.step",
       .slot = [](C& c) -> Slot { return &c.timeouts.step; },
       .help = "a step that takes longer ends the run; the message names the rank that stalled",
       .range = wait_range,
       .unit = "seconds",
       .shapes_result = false},
      {.path = "timeouts.checkpoint",
       .slot = [](C& c) -> Slot { return &c.timeouts.checkpoint; },
       .help = "the same for writing or reading a checkpoint",
       .range = wait_range,
       .unit = "seconds",
       .shapes_result = false},
      {.path = "timeouts.silence",
       .slot = [](C& c) -> Slot { return &c.timeouts.silence; },
       .help = "a process that sends no sign of life for this long counts as lost, whatever it was "
               "doing",
       .range = wait_range,
       .unit = "seconds",
       .shapes_result = false},
      {.path = "elastic",
       .slot = [](C& c) -> Slot { return &c.elastic; },
       .help = "after a failure, restart on the processes and GPUs that are left",
       .shapes_result = false},
  };
}

}  // namespace spire::inline config::schema_parts
