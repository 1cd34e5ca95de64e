#include <spire/base/error.h>
#include <spire/config/devices.h>
#include <spire/config/schema.h>

#include <algorithm>

namespace spire {

namespace {

constexpr double kSizes = 1e6;   // widths, counts of things held in memory
constexpr double kSteps = 1e12;  // steps, samples

constexpr Range at_least(double low, double high = std::numeric_limits<double>::infinity()) {
  return {.low = low, .high = high};
}
constexpr Range above(double low) {
  return {.low = low, .low_open = true};
}
constexpr Range kFraction = {.low = 0, .high = 1, .high_open = true};

void check_depth(RunConfig& c) {
  if (c.model.depth % 6 == 2) return;
  int64_t below = std::max<int64_t>(8, (c.model.depth - 2) / 6 * 6 + 2);
  fail(Category::config, "{} layers make no ResNet of this kind; its depth is 6n+2: {} or {}",
       c.model.depth, below, below + 6);
}

using C = RunConfig;

std::vector<Field> model_fields() {
  return {
      {.path = "model.name",
       .slot = [](C& c) -> Slot { return &c.model.name; },
       .help = "which model is trained",
       .choices = {"mlp", "cnn", "resnet"}},
      {.path = "model.hidden",
       .slot = [](C& c) -> Slot { return &c.model.hidden; },
       .help = "mlp, cnn: widths of the dense layers; []: the model's own",
       .range = at_least(1, kSizes)},
      {.path = "model.channels",
       .slot = [](C& c) -> Slot { return &c.model.channels; },
       .help = "cnn: channels of the convolutions; []: the model's own",
       .range = at_least(1, kSizes)},
      {.path = "model.depth",
       .slot = [](C& c) -> Slot { return &c.model.depth; },
       .help = "resnet: layers, 6n+2 of them: 8, 14, 20, 32, 44, 56, ...",
       .range = at_least(8, 1202),
       .settle = check_depth},
      {.path = "model.dropout",
       .slot = [](C& c) -> Slot { return &c.model.dropout; },
       .help = "mlp, cnn: share of activations dropped before the last dense layers",
       .range = kFraction},
  };
}

std::vector<Field> data_fields() {
  return {
      {.path = "data.name",
       .slot = [](C& c) -> Slot { return &c.data.name; },
       .help = "dataset: fashion_mnist, or any four files in the IDX format",
       .choices = {"fashion_mnist", "idx"}},
      {.path = "data.path",
       .slot = [](C& c) -> Slot { return &c.data.path; },
       .help = "folder of the IDX files, relative to where the trainer is started; auto: the known "
               "places"},
      {.path = "data.workers",
       .slot = [](C& c) -> Slot { return &c.data.workers; },
       .help = "reader threads that prepare batches",
       .range = at_least(1, 1024),
       .unit = "threads"},
      {.path = "data.prefetch",
       .slot = [](C& c) -> Slot { return &c.data.prefetch; },
       .help = "batches prepared ahead of the step that needs them",
       .range = at_least(1, 1024),
       .unit = "global batches"},
      {.path = "data.last_batch",
       .slot = [](C& c) -> Slot { return &c.data.last_batch; },
       .help = "a smaller last batch of an epoch is used with its true weight, or dropped",
       .choices = {"weighted", "drop"}},
      {.path = "data.augment.crop",
       .slot = [](C& c) -> Slot { return &c.data.augment.crop; },
       .help = "zero padding on each side before a random crop of the original size",
       .range = at_least(0, 1024),
       .unit = "pixels"},
      {.path = "data.augment.flip",
       .slot = [](C& c) -> Slot { return &c.data.augment.flip; },
       .help = "mirror half of the samples, chosen at random"},
      {.path = "loss.name",
       .slot = [](C& c) -> Slot { return &c.loss.name; },
       .help = "what is minimised",
       .choices = {"cross_entropy", "mse", "l1"}},
      {.path = "loss.label_smoothing",
       .slot = [](C& c) -> Slot { return &c.loss.label_smoothing; },
       .help = "cross_entropy: probability spread evenly over all classes",
       .range = kFraction},
  };
}

std::vector<Field> run_fields() {
  return {
      {.path = "batch_size",
       .slot = [](C& c) -> Slot { return &c.batch_size; },
       .help = "samples that one tower takes in one step",
       .range = at_least(1, kSizes),
       .unit = "samples",
       .unset = "global_batch / towers"},
      {.path = "global_batch",
       .slot = [](C& c) -> Slot { return &c.global_batch; },
       .help =
           "samples of one step over all towers; where batch_size is given too, they must agree",
       .range = at_least(1, 1e9),
       .unit = "samples",
       .unset = "batch_size x towers"},
      {.path = "towers",
       .slot = [](C& c) -> Slot { return &c.towers; },
       .help = "replicas whose gradients make one step; fixes the result whatever devices run it",
       .range = at_least(1, 4096),
       .unset = "the number of devices"},
      {.path = "tower_threads",
       .slot = [](C& c) -> Slot { return &c.tower_threads; },
       .help = "CPU threads of one tower; part of the run's meaning, kept in its checkpoints",
       .range = at_least(1, 1024),
       .unit = "threads",
       .unset = "the device's cores divided among its towers"},
      {.path = "devices",
       .slot = [](C& c) -> Slot { return &c.devices; },
       .help =
           "auto, cpu, cpu:N (N CPU devices), cuda, cuda:N (GPU N), or a list: [cuda:0, cuda:1]",
       .settle = [](C& c) { c.devices = expand_devices(c.devices); }},
      {.path = "parameter_device",
       .slot = [](C& c) -> Slot { return &c.parameter_device; },
       .help = "where master weights and optimizer state live: auto, cpu, cpu:N, cuda:N",
       .settle = [](C& c) { check_parameter_device(c.parameter_device); }},
      {.path = "strategy",
       .slot = [](C& c) -> Slot { return &c.strategy; },
       .help = "who applies the update",
       .choices = {"parameter_device"}},
      {.path = "reduction",
       .slot = [](C& c) -> Slot { return &c.reduction; },
       .help =
           "invariant: gradients are summed in one tree over towers, the same on any device count",
       .choices = {"invariant"}},
      {.path = "precision",
       .slot = [](C& c) -> Slot { return &c.precision; },
       .help = "type of the computation; weights, optimizer state and sums stay fp32",
       .choices = {"fp32", "bf16", "fp16"}},
  };
}

std::vector<Field> optimizer_fields() {
  return {
      {.path = "optimizer.name",
       .slot = [](C& c) -> Slot { return &c.optimizer.name; },
       .help = "update rule",
       .choices = {"sgd", "adam", "adamw"}},
      {.path = "optimizer.lr",
       .slot = [](C& c) -> Slot { return &c.optimizer.lr; },
       .help = "learning rate, before warm-up and schedule; it is not scaled by the batch",
       .range = at_least(0)},
      {.path = "optimizer.momentum",
       .slot = [](C& c) -> Slot { return &c.optimizer.momentum; },
       .help = "sgd: share of the last step kept in this one",
       .range = kFraction},
      {.path = "optimizer.nesterov",
       .slot = [](C& c) -> Slot { return &c.optimizer.nesterov; },
       .help = "sgd: look ahead along the momentum"},
      {.path = "optimizer.weight_decay",
       .slot = [](C& c) -> Slot { return &c.optimizer.weight_decay; },
       .help =
           "pull of the weights to zero; sgd, adam: added to the gradient, adamw: apart from it",
       .range = at_least(0)},
      {.path = "optimizer.beta1",
       .slot = [](C& c) -> Slot { return &c.optimizer.beta1; },
       .help = "adam, adamw: decay of the mean of gradients",
       .range = kFraction},
      {.path = "optimizer.beta2",
       .slot = [](C& c) -> Slot { return &c.optimizer.beta2; },
       .help = "adam, adamw: decay of the mean of squared gradients",
       .range = kFraction},
      {.path = "optimizer.epsilon",
       .slot = [](C& c) -> Slot { return &c.optimizer.epsilon; },
       .help = "adam, adamw: added to the root in the denominator",
       .range = above(0)},
      {.path = "optimizer.clip_norm",
       .slot = [](C& c) -> Slot { return &c.optimizer.clip_norm; },
       .help = "longest allowed norm of the whole gradient; 0: no clipping",
       .range = at_least(0)},
  };
}

std::vector<Field> schedule_fields() {
  return {
      {.path = "schedule.name",
       .slot = [](C& c) -> Slot { return &c.schedule.name; },
       .help = "how the learning rate goes on after the warm-up",
       .choices = {"constant", "step", "cosine", "linear", "polynomial"}},
      {.path = "schedule.warmup_epochs",
       .slot = [](C& c) -> Slot { return &c.schedule.warmup_epochs; },
       .help = "the learning rate rises linearly for so long",
       .range = at_least(0, kSizes),
       .unit = "epochs"},
      {.path = "schedule.warmup_steps",
       .slot = [](C& c) -> Slot { return &c.schedule.warmup_steps; },
       .help = "the same in steps; used instead of warmup_epochs when above 0",
       .range = at_least(0, kSteps),
       .unit = "steps"},
      {.path = "schedule.step_epochs",
       .slot = [](C& c) -> Slot { return &c.schedule.step_epochs; },
       .help = "step: time between two drops",
       .range = above(0),
       .unit = "epochs"},
      {.path = "schedule.gamma",
       .slot = [](C& c) -> Slot { return &c.schedule.gamma; },
       .help = "step: factor of one drop",
       .range = {.low = 0, .high = 1, .low_open = true}},
      {.path = "schedule.min_lr",
       .slot = [](C& c) -> Slot { return &c.schedule.min_lr; },
       .help = "cosine, linear, polynomial: learning rate at the end",
       .range = at_least(0)},
      {.path = "schedule.power",
       .slot = [](C& c) -> Slot { return &c.schedule.power; },
       .help = "polynomial: exponent of the remaining share of the run",
       .range = above(0)},
  };
}

std::vector<Field> course_fields() {
  return {
      {.path = "epochs",
       .slot = [](C& c) -> Slot { return &c.epochs; },
       .help = "length of the run in passes over the data",
       .range = at_least(0, kSizes),
       .unit = "epochs"},
      {.path = "steps",
       .slot = [](C& c) -> Slot { return &c.steps; },
       .help = "length of the run in steps; wins over epochs when given",
       .range = at_least(1, kSteps),
       .unit = "steps",
       .unset = "as many as the epochs have"},
      {.path = "eval.every_epochs",
       .slot = [](C& c) -> Slot { return &c.eval.every_epochs; },
       .help = "time between two evaluations; 0: only at the end",
       .range = at_least(0, kSizes),
       .unit = "epochs"},
      {.path = "checkpoint.every_steps",
       .slot = [](C& c) -> Slot { return &c.checkpoint.every_steps; },
       .help = "steps between two checkpoints; 0: none by steps",
       .range = at_least(0, kSteps),
       .unit = "steps"},
      {.path = "checkpoint.every_epochs",
       .slot = [](C& c) -> Slot { return &c.checkpoint.every_epochs; },
       .help = "epochs between two checkpoints; 0: none by epochs",
       .range = at_least(0, kSizes),
       .unit = "epochs"},
      {.path = "checkpoint.keep_last",
       .slot = [](C& c) -> Slot { return &c.checkpoint.keep_last; },
       .help = "newest checkpoints that stay on disk, the best one not counted",
       .range = at_least(1, kSizes)},
      {.path = "checkpoint.keep_every_steps",
       .slot = [](C& c) -> Slot { return &c.checkpoint.keep_every_steps; },
       .help = "checkpoints at multiples of so many steps are never deleted; 0: none",
       .range = at_least(0, kSteps),
       .unit = "steps"},
      {.path = "log.every_steps",
       .slot = [](C& c) -> Slot { return &c.log.every_steps; },
       .help = "steps between two lines of metrics.jsonl",
       .range = at_least(1, kSteps),
       .unit = "steps"},
      {.path = "log.every_seconds",
       .slot = [](C& c) -> Slot { return &c.log.every_seconds; },
       .help = "time between two progress lines where stderr is no terminal",
       .range = above(0),
       .unit = "seconds"},
      {.path = "seed",
       .slot = [](C& c) -> Slot { return &c.seed; },
       .help = "every random number of the run follows from it"},
      {.path = "output",
       .slot = [](C& c) -> Slot { return &c.output; },
       .help = "run directory, relative to where the trainer is started"},
  };
}

std::vector<Field> all_fields() {
  std::vector<Field> fields;
  for (auto part :
       {model_fields, data_fields, run_fields, optimizer_fields, schedule_fields, course_fields}) {
    std::ranges::copy(part(), std::back_inserter(fields));
  }
  return fields;
}

}  // namespace

const std::vector<Field>& schema() {
  static const std::vector<Field> fields = all_fields();
  return fields;
}

}  // namespace spire
