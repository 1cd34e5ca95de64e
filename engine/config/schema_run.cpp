// Keys of the batch, of the devices that compute it, of the length of a run, and of its
// checkpoints, logs and deadlines. Most do not shape the result: they say where it is computed, or
// a resumed run takes them from its checkpoint.
#include "engine/config/devices.h"
#include "engine/config/scalar.h"
#include "engine/config/schema_parts.h"

namespace spire::schema_parts {

namespace {

// MiB. A bucket larger than the gradient is one bucket.
constexpr Range bucket_range = {.low = 0, .high = 4096};

// Seconds. Up to 1e9 they fit into 64 bits as nanoseconds.
constexpr Range wait_range = {.low = 0, .high = 1e9, .low_open = true};

std::vector<Field> batch_fields() {
  const Use with_lora = {"adapt.lora.rank", {"1 or more"}, [](const RunConfig& config) {
                           return config.adapt.lora.rank > 0;
                         }};
  return {
      // Any two of these three give the third (settle_batch).
      {KEY(batch_size,
           "samples that one tower computes in one step; auto: the most that fit the smallest "
           "device, chosen once and kept by resumed runs; global_batch then decides towers"),
       .range = at_least(1, max_size), .unit = "samples", .zero = "auto",
       .unset = "global_batch / towers", .shapes_result = false},
      {KEY(global_batch,
           "samples of one step over all towers; batch_size is then their share of it, rounded up, "
           "and the last tower takes what is left"),
       .range = at_least(1, 1e9), .unit = "samples", .unset = "batch_size x towers",
       .shapes_result = false},
      {KEY(towers,
           "number of gradients that a step averages; the result depends on it, not on which "
           "devices compute them"),
       .range = at_least(1, 4096), .unset = "the number of devices", .shapes_result = false},
      {KEY(tower_threads,
           "CPU threads of one tower; rounding depends on it, so it is kept in checkpoints"),
       .range = at_least(1, 1024), .unit = "threads",
       .unset = "the device's cores divided among its towers", .shapes_result = false},
      {KEY(precision,
           "type of the computation; weights, optimizer state and sums stay fp32; exact: fp32 with "
           "exact fp64 sums, so that results depend on global_batch and not on its split into "
           "towers (linear, mlp, and cnn without normalization; 4 to 8 times slower)")},
      {KEY(adapt.lora.rank,
           "low-rank adaptation: dense layers keep their weights and learn a product of two "
           "matrices of this rank beside them; 0: off"),
       .range = at_least(0, max_size)},
      {KEY(adapt.lora.alpha, "the product counts alpha / rank times"), .range = above(0),
       .used_by = with_lora},
      {KEY(adapt.lora.patterns,
           "patterns of names of dense layers, as \"*.qkv\", that are adapted; none: all"),
       .used_by = with_lora},
      {KEY(freeze,
           "patterns of names of parameters that training leaves as they are, such as "
           "\"stage1.*\"")},
      {KEY(freeze_batch_norm,
           "batch norms all of whose parameters are frozen use their running statistics in "
           "training, too, and leave them as they are")},
      // The limit decides whether a plan fits, not what it computes.
      {KEY(memory.limit,
           "most memory that the run may use of each GPU (CPUs: of the host): bytes (20GiB), a "
           "fraction (0.8), or auto: all that is free; devices on one GPU share it"),
       .settle = [](C& c) { parse_memory_limit(c.memory.limit); }, .shapes_result = false},
      {KEY(memory.recompute,
           "blocks: backward recomputes the inside of the model's blocks instead of storing it: "
           "the same bits with less memory and more time"),
       .shapes_result = false},
  };
}

std::vector<Field> device_fields() {
  return {
      {KEY(devices,
           "auto (GPUs if there are any, at most as many as towers, idle ones first), auto:N (N "
           "idle GPUs), cpu, cuda (all GPUs), a number of them: 2xcpu, 4xcuda, or names: cuda:1, "
           "GPU-1b2c (UUID), 3b:00.0 (PCI), [cuda:0, cuda:2], [cpu:0, cpu:1]; [{cuda:0: 8GiB}, "
           "{cuda:0: 4GiB}] share a GPU, each with a memory limit of its own"),
       .settle = [](C& c) { c.devices = expand_devices(c.devices); }, .pairs = true,
       .shapes_result = false, .note = [](const C& c) { return devices_note(c.devices); }},
      {KEY(on_missing,
           "without some of the named or idle GPUs: fail; fewer: train on the others, the same "
           "bits in more time; any: on other GPUs, the least loaded first; cpu: fewer, and the CPU "
           "if there is none"),
       .shapes_result = false},
      {KEY(pin,
           "pin the computing CPU threads to cores of their own; auto: when the cores were "
           "assigned to the process (taskset, MPI, container) and no other run uses them"),
       .shapes_result = false},
      {KEY(parameter_device,
           "where master weights and optimizer state are: auto, cpu, or a name such as cpu:0, "
           "cuda:1"),
       .settle = [](C& c) { check_parameter_device(c.parameter_device); }, .shapes_result = false},
      {KEY(cuda.graphs,
           "GPUs: record each tower's work once and replay it as a CUDA graph; the same bits in "
           "less time"),
       .shapes_result = false},
      // Kernels round in different ways, so the keys that choose kernels shape the result.
      {KEY(cuda.tf32,
           "GPUs: round the operands of fp32 products and convolutions to TF32: faster, with 10 "
           "bits of fraction")},
      {KEY(
          cuda.autotune,
          "GPUs: measure once which deterministic engine of cuDNN and cuBLASLt is fastest for each "
          "convolution, attention and product; false: use the one that they propose first")},
      {KEY(cuda.autotune_cache,
           "file that keeps these measurements for later runs: auto "
           "($XDG_CACHE_HOME/spire/tuning.txt or ~/.cache/spire/tuning.txt), none, or a path"),
       .is_path = true, .shapes_result = false},
      {KEY(cuda.attention,
           "auto: bf16 and fp16 attention without dropout uses cuDNN where it has a deterministic "
           "engine; own: always use Spire's kernels")},
      {KEY(cuda.peer,
           "how GPUs of one process exchange data: auto (directly if they have peer access and "
           "NCCL_P2P_DISABLE is not set, else by NCCL), direct, or nccl"),
       .shapes_result = false},
      // All strategies give the same bits (docs/architecture.md).
      {KEY(strategy,
           "who updates the weights: the parameter device, every device all of them (mirrored), or "
           "each device its share (sharded)"),
       .shapes_result = false},
      {KEY(reduction,
           "order of summing gradients: invariant: one tree over towers, the same bits on any "
           "devices; native: the transport's own")},
      {KEY(reduction_dtype,
           "bf16: round each tower's gradient before they are added up in fp32; where messages "
           "carry the gradient of one tower they have half the bytes")},
      {KEY_AT("batch_norm", model.batch_norm,
              "whose samples the statistics are of: each tower's own, or all towers' (sync)"),
       .used_by = {"model.name", {"cnn", "resnet", "vgg", "unet", "autoencoder", "layers"}}},
      // No sum depends on where the gradient is cut into buckets.
      {KEY(bucket.first_mib,
           "size of the first piece of gradients that is exchanged; small, so that it starts "
           "early"),
       .range = {.low = 0, .high = bucket_range.high, .low_open = true}, .unit = "MiB",
       .shapes_result = false},
      {KEY(bucket.mib,
           "GPUs and processes exchange gradients in pieces of this size during backward; 0: 8 "
           "between CPUs; between GPUs 4 a GPU, at least 25 and at most 64"),
       .range = bucket_range, .unit = "MiB", .shapes_result = false},
  };
}

// The length of a run changes its result, and so does early stopping; evaluations do not.
std::vector<Field> length_fields() {
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

std::vector<Field> monitor_fields() {
  return {
      {KEY(monitor.every_seconds,
           "time between two readings of the devices' use, memory, heat and clocks for "
           "metrics.jsonl; 0: none"),
       .range = at_least(0, 1e6), .unit = "seconds", .shapes_result = false},
      {KEY(monitor.prometheus,
           "address at which rank 0 answers Prometheus: HOST:PORT, a PORT of this machine alone "
           "(9400), 0 for any free one, or none"),
       .settle = [](C& c) { parse_listen_address(c.monitor.prometheus); }, .shapes_result = false},
      {KEY(monitor.serve,
           "address at which rank 0 shows the run to browsers, in the same forms; it asks for no "
           "password"),
       .settle = [](C& c) { parse_listen_address(c.monitor.serve); }, .shapes_result = false},
  };
}

}  // namespace

std::vector<Field> run_fields() {
  return join({batch_fields(), device_fields()});
}

std::vector<Field> course_fields() {
  return join({length_fields(), guard_fields(), record_fields(), monitor_fields()});
}

}  // namespace spire::schema_parts
