// Keys of the length of a run, and of its checkpoints, logs and deadlines.
#include "engine/config/schema_parts.h"

namespace spire::schema_parts {

namespace {

// Seconds. Up to 1e9 they fit into 64 bits as nanoseconds.
constexpr Range wait_range = {.low = 0, .high = 1e9, .low_open = true};

}  // namespace

// The length of a run changes its result, and so does early stopping; evaluations do not.
std::vector<Field> course_fields() {
  return {
      {KEY(epochs, "length of the run in passes over the data"), .range = at_least(0, max_size),
       .unit = "epochs"},
      {KEY(steps, "length of the run in steps; wins over epochs when given"),
       .range = at_least(1, max_steps), .unit = "steps", .unset = "as many as the epochs have"},
      {KEY(max_time,
           "stop with a checkpoint and exit code 75 before the process has run for so long (8h, "
           "90m); 0: no limit"),
       .range = at_least(0, 1e9), .unit = "seconds", .shapes_result = false},
      {KEY(eval.every_epochs,
           "epochs between two evaluations; 0: none by epochs; the end is always evaluated"),
       .range = at_least(0, max_size), .unit = "epochs", .shapes_result = false},
      {KEY(eval.every_steps, "further evaluations every so many steps; 0: none"),
       .range = at_least(0, max_steps), .unit = "steps", .shapes_result = false},
      {KEY(eval.samples,
           "image and text models: each evaluation writes what the model makes of this many test "
           "samples to OUTPUT/samples"),
       .range = at_least(0, 1024), .shapes_result = false},
      {KEY(eval.metrics,
           "further metrics of each evaluation, from the outputs for all its samples; confusion: "
           "the confusion matrix as a file; docs/metrics.md says which suit what"),
       .choices = {"loss", "top3", "top5", "f1_macro", "f1_micro", "auc", "r2", "mae",
                   "bits_per_byte", "ssim", "mean_iou", "dice", "pixel_accuracy", "confusion"},
       .shapes_result = false},
      {KEY(best.metric,
           "which metric decides what checkpoint is best and when to stop early; auto: the task's"),
       .choices = {"auto",          "accuracy",      "perplexity", "psnr",        "rmse",
                   "score",         "error",         "loss",       "top3",        "top5",
                   "f1_macro",      "f1_micro",      "auc",        "exact_match", "r2",
                   "mae",           "bits_per_byte", "ssim",       "mean_iou",    "dice",
                   "pixel_accuracy"}},
      {KEY(best.mode,
           "whether a higher (max) or a lower (min) value is better; auto: as the metric has it")},
      {KEY(early_stop.patience,
           "stop after this many evaluations in a row without a better metric; 0: never"),
       .range = at_least(0, max_size), .unit = "evaluations"},
      {KEY(early_stop.min_delta, "smallest change of the metric that counts as better"),
       .range = at_least(0)},
      {KEY(seed, "seed of every random number of the run"), .shapes_result = false},
      {KEY(output, "run directory, relative to where the trainer is started"), .is_path = true,
       .shapes_result = false},
  };
}

// They change the result only of a run that has bad steps.
std::vector<Field> guard_fields() {
  return {
      {KEY(guard.on_bad_step,
           "when loss or gradient are not finite or stand out: stop the run, skip the step's "
           "update, or roll back to the last regular checkpoint and leave out the samples since")},
      {KEY(guard.loss_zscore,
           "a loss so many standard deviations above the mean of the window is bad; 0: off"),
       .range = at_least(0)},
      {KEY(guard.grad_zscore, "the same for the norm of the gradient"), .range = at_least(0)},
      {KEY(guard.window,
           "good steps of which the guard knows mean and deviation; it judges none before"),
       .range = at_least(2, 10000), .unit = "steps"},
      {KEY(guard.max_skips,
           "bad steps in a row, rollbacks included, that are left out; one more ends the run"),
       .range = at_least(1, max_steps), .unit = "steps"},
      {KEY(guard.max_rollbacks, "rollbacks of a run; one more ends it"),
       .range = at_least(0, max_steps)},
  };
}

// Records of a run. None of them changes a weight.
std::vector<Field> record_fields() {
  return {
      {KEY(checkpoint.every_steps, "steps between two checkpoints; 0: none by steps"),
       .range = at_least(0, max_steps), .unit = "steps", .shapes_result = false},
      {KEY(checkpoint.every_epochs, "epochs between two checkpoints; 0: none by epochs"),
       .range = at_least(0, max_size), .unit = "epochs", .shapes_result = false},
      {KEY(checkpoint.keep_last,
           "number of newest checkpoints to keep, in addition to the best one"),
       .range = at_least(1, max_size), .shapes_result = false},
      {KEY(checkpoint.keep_every_steps,
           "never delete checkpoints whose step is a multiple of this; 0: none"),
       .range = at_least(0, max_steps), .unit = "steps", .shapes_result = false},
      {KEY(checkpoint.snapshot,
           "write from a copy of the state while training goes on; never: steps wait until it is "
           "written; auto: a copy where steps follow and memory is left for one"),
       .shapes_result = false},
      // All devices must have the same weights, bit for bit.
      {KEY(check.replicas_every,
           "steps between two comparisons of the weights on all devices; 0: only at checkpoints"),
       .range = at_least(0, max_steps), .unit = "steps", .shapes_result = false},
      {KEY(audit.chain,
           "chain the records of all steps by a cryptographic hash, in OUTPUT/audit.jsonl and "
           "checkpoints, for trainer audit"),
       .shapes_result = false},
      {KEY(audit.weights_every_steps,
           "steps between two hashes of every tensor of the weights in the chain; auto: 500 up to "
           "five million parameters, for larger models up to 1000"),
       .range = at_least(1, max_steps), .unit = "steps", .zero = "auto", .shapes_result = false},
      {KEY(log.every_steps, "steps between two lines of metrics.jsonl"),
       .range = at_least(1, max_steps), .unit = "steps", .shapes_result = false},
      {KEY(log.hash_every_steps,
           "steps between two hashes of all weights in metrics.jsonl, which trainer compare reads; "
           "0: none"),
       .range = at_least(0, max_steps), .unit = "steps", .shapes_result = false},
      {KEY(log.every_seconds, "time between two progress lines when stderr is not a terminal"),
       .range = above(0), .unit = "seconds", .shapes_result = false},
      {KEY(log.tensorboard,
           "write what metrics.jsonl has as TensorBoard event files, too: OUTPUT/tensorboard"),
       .shapes_result = false},
      {KEY(timeouts.devices,
           "devices: auto:N waits so long until N GPUs are idle; 0: fail at once"),
       .range = {.low = 0, .high = 1e9}, .unit = "seconds", .shapes_result = false},
      // A thread that stays in one phase for longer ends the run with an error
      // (engine/process/watchdog).
      {KEY(timeouts.start, "longest time until all processes of the run are connected and ready"),
       .range = wait_range, .unit = "seconds", .shapes_result = false},
      {KEY(timeouts.step,
           "a step that takes longer ends the run; the message names the rank that stalled"),
       .range = wait_range, .unit = "seconds", .shapes_result = false},
      {KEY(timeouts.checkpoint, "the same for writing or reading a checkpoint"),
       .range = wait_range, .unit = "seconds", .shapes_result = false},
      {KEY(timeouts.silence,
           "a process that sends no sign of life for this long counts as lost, whatever it was "
           "doing"),
       .range = wait_range, .unit = "seconds", .shapes_result = false},
      {KEY(elastic, "after a failure, restart on the processes and GPUs that are left"),
       .shapes_result = false},
  };
}

}  // namespace spire::schema_parts
