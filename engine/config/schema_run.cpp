// How a step is made up, and on what it runs.
#include <spire/config/devices.h>
#include <spire/config/memory_limit.h>
#include <spire/config/schema_parts.h>

namespace spire::schema_parts {

namespace {

constexpr Range kBucket = {.low = 0, .high = 4096, .low_open = true};

}  // namespace

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
      {.path = "precision",
       .slot = [](C& c) -> Slot { return &c.precision; },
       .help = "type of the computation; weights, optimizer state and sums stay fp32",
       .choices = {"fp32", "bf16", "fp16"}},
      {.path = "memory.limit",
       .slot = [](C& c) -> Slot { return &c.memory.limit; },
       .help = "most that the run takes of each GPU's memory (of the host's, for CPUs): bytes as "
               "20GiB, a fraction as 0.8, or auto: all there is; devices of one GPU share it",
       .settle = [](C& c) { parse_memory_limit(c.memory.limit); }},
      {.path = "memory.recompute",
       .slot = [](C& c) -> Slot { return &c.memory.recompute; },
       .help = "blocks: backward computes the inside of the model's blocks anew instead of keeping "
               "it; the same bits in less memory and more time",
       .choices = {"none", "blocks"}},
  };
}

std::vector<Field> device_fields() {
  return {
      {.path = "devices",
       .slot = [](C& c) -> Slot { return &c.devices; },
       .help =
           "auto, cpu, cpu:N (N CPU devices), cuda, cuda:N (GPU N), or a list: [cuda:0, cuda:1]",
       .settle = [](C& c) { c.devices = expand_devices(c.devices); }},
      {.path = "pin",
       .slot = [](C& c) -> Slot { return &c.pin; },
       .help = "CPU threads that compute keep to cores of their own; auto: where these were given "
               "to the process, by taskset, MPI or a container, and no other run has them",
       .choices = {"auto", "true", "false"}},
      {.path = "parameter_device",
       .slot = [](C& c) -> Slot { return &c.parameter_device; },
       .help = "where master weights and optimizer state live: auto, cpu, cpu:N, cuda:N",
       .settle = [](C& c) { check_parameter_device(c.parameter_device); }},
      {.path = "cuda.graphs",
       .slot = [](C& c) -> Slot { return &c.cuda.graphs; },
       .help = "on GPUs a tower's work is recorded once and replayed; the same bits in less time"},
      {.path = "cuda.tf32",
       .slot = [](C& c) -> Slot { return &c.cuda.tf32; },
       .help = "on GPUs fp32 products and convolutions round their operands to TF32: quicker, with "
               "10 bits of fraction"},
      {.path = "cuda.autotune",
       .slot = [](C& c) -> Slot { return &c.cuda.autotune; },
       .help = "on GPUs the quickest of cuDNN's deterministic engines is measured once for each "
               "convolution and attention; false: the one that cuDNN proposes first"},
      {.path = "cuda.autotune_cache",
       .slot = [](C& c) -> Slot { return &c.cuda.autotune_cache; },
       .help = "file that keeps what was measured for later runs: auto "
               "($XDG_CACHE_HOME/spire/tuning.txt or ~/.cache/spire/tuning.txt), none, or a path"},
      {.path = "cuda.attention",
       .slot = [](C& c) -> Slot { return &c.cuda.attention; },
       .help = "auto: on GPUs bf16 and fp16 attention without dropout is cuDNN's where that has a "
               "deterministic engine; own: always Spire's kernels",
       .choices = {"auto", "own"}},
      {.path = "cuda.peer",
       .slot = [](C& c) -> Slot { return &c.cuda.peer; },
       .help = "how GPUs of one process meet: auto (direct where they reach each other's memory, "
               "NCCL where not), direct, or always nccl",
       .choices = {"auto", "direct", "nccl"}},
      {.path = "strategy",
       .slot = [](C& c) -> Slot { return &c.strategy; },
       .help = "who applies the update: the parameter device, every device, each device its share",
       .choices = {"parameter_device", "mirrored", "sharded"}},
      {.path = "reduction",
       .slot = [](C& c) -> Slot { return &c.reduction; },
       .help = "invariant: one tree over towers, the same bits on any devices; native: the "
               "transport's own order",
       .choices = {"invariant", "native"}},
      {.path = "batch_norm",
       .slot = [](C& c) -> Slot { return &c.model.batch_norm; },
       .help = "tower: statistics of each tower's own samples; sync: of all towers' samples",
       .choices = {"tower", "sync"},
       .used_by = {"model.name", {"cnn", "resnet", "vgg", "unet", "autoencoder", "layers"}}},
      {.path = "bucket.first_mib",
       .slot = [](C& c) -> Slot { return &c.bucket.first_mib; },
       .help = "the first piece of gradients that is reduced; small, so that it starts early",
       .range = kBucket,
       .unit = "MiB"},
      {.path = "bucket.mib",
       .slot = [](C& c) -> Slot { return &c.bucket.mib; },
       .help = "gradients are reduced in pieces of this size while backward goes on",
       .range = kBucket,
       .unit = "MiB"},
  };
}

}  // namespace spire::schema_parts
