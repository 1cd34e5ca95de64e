#include "tools/bench/runs/variants.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <fmt/ranges.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/check.h"
#include "engine/config/words.h"
#include "engine/data/dataset.h"
#include "engine/train/placement/rank_hardware.h"

namespace spire {
namespace {

using Counts = std::vector<int64_t>;

Counts sorted(Counts counts) {
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

Counts powers_of_two_and(int64_t all) {
  Counts counts;
  for (int64_t n = 1; n < all; n *= 2) counts.push_back(n);
  counts.push_back(all);
  return counts;
}

Kind choose_kind(const VariantRequest& request, const BenchDevices& devices) {
  if (!request.kind) return devices.gpus.empty() ? Kind::cpu : Kind::cuda;
  if (*request.kind == Kind::cuda && devices.gpus.empty())
    fail(Category::device, "--kind cuda: no CUDA device is available: {}; use --kind cpu",
         devices.why_no_gpu);
  return *request.kind;
}

Counts choose_counts(const VariantRequest& request, Kind kind, const BenchDevices& devices) {
  int64_t most = devices.count(kind);
  if (request.counts.empty()) return powers_of_two_and(most);
  Counts counts = sorted(request.counts);
  if (counts.front() < 1) fail(Category::config, "--counts {}: use 1 or more", counts.front());
  if (counts.back() <= most) return counts;
  if (kind == Kind::cuda)
    fail(Category::config, "--counts {}: there {} {}; use at most {}", counts.back(),
         most == 1 ? "is" : "are", counted(most, "GPU"), most);
  fail(Category::config,
       "--counts {}: this process may use {}, and a CPU device of the benchmark has {} "
       "(tower_threads); use at most {}",
       counts.back(), counted(std::ssize(devices.cores), "core"), devices.tower_threads, most);
}

void check_processes(const Counts& processes, const Counts& counts) {
  for (int64_t number : processes) {
    auto divided = [&](int64_t count) { return number >= 1 && count % number == 0; };
    if (std::ranges::none_of(counts, divided))
      fail(Category::config,
           "--processes {}: each process has the same number of devices, so it must divide one of "
           "--counts {}",
           number, fmt::join(counts, ", "));
  }
}

int64_t strong_towers(const RunConfig& config, const Counts& counts) {
  int64_t towers = config.towers.value_or(counts.back());
  if (towers < counts.back())
    fail(Category::config,
         "strong scaling divides the config's towers among the devices, and {} cannot be divided "
         "among {} devices; set towers={}, or lower --counts",
         counted(towers, "tower"), counts.back(), counts.back());
  return towers;
}

void refuse_fp16_on_cpu(const std::vector<RunConfig::Precision>& precisions, Kind kind) {
  bool asked = std::ranges::count(precisions, RunConfig::Precision::fp16) > 0;
  if (asked && kind == Kind::cpu)
    fail(Category::config, "fp16 needs GPUs; use --precisions fp32,bf16 on CPUs");
}

// The samples of a tower must not differ from variant to variant.
void check_batch(const RunConfig& config) {
  if (config.batch_size == 0)
    fail(Category::config,
         "batch_size: auto: a benchmark compares runs of one size; write a number (trainer plan "
         "shows what plans alone would choose)");
  if (config.global_batch && !config.towers)
    fail(Category::config,
         "global_batch: a benchmark has several numbers of towers, and {} samples do not say how "
         "many a tower takes; set batch_size or towers, too",
         *config.global_batch);
  if (!evenly_divided(config))
    fail(
        Category::config,
        "global_batch: a benchmark gives each tower as many samples, but {} are not {} for each of "
        "{}; set batch_size and towers",
        *config.global_batch, config.batch_size, counted(*config.towers, "tower"));
}

template <typename T>
std::vector<T> or_else(const std::vector<T>& given, T standard) {
  return given.empty() ? std::vector<T>{standard} : given;
}

}  // namespace

int64_t BenchDevices::count(Kind kind) const {
  if (kind == Kind::cuda) return std::ssize(gpus);
  return std::max<int64_t>(1, std::ssize(cores) / tower_threads);
}

BenchDevices devices_here(const RunConfig& config) {
  RankHardware hardware = share_out({local_hardware()}).front();
  BenchDevices devices;
  devices.cores = hardware.cores;
  devices.cores.resize(std::min(devices.cores.size(), static_cast<size_t>(hardware.max_threads())));
  devices.tower_threads = config.tower_threads.value_or(1);
  for (const CudaDeviceInfo& gpu : hardware.gpus) devices.gpus.push_back(gpu.uuid);
  devices.why_no_gpu = hardware.why_no_gpu;
  return devices;
}

std::vector<Variant> make_variants(const VariantRequest& request, const RunConfig& config,
                                   const BenchDevices& devices) {
  check_batch(config);
  Kind kind = choose_kind(request, devices);
  Counts counts = choose_counts(request, kind, devices), processes = sorted(request.processes);
  check_processes(processes, counts);
  auto precisions = or_else(request.precisions, config.precision);
  refuse_fp16_on_cpu(precisions, kind);
  std::vector<Variant> variants;
  for (Scaling scaling : request.scaling) {
    bool strong = scaling == Scaling::strong;
    // Beside weak scaling it is measured where the config has a tower for each device.
    bool fits = config.towers.value_or(counts.back()) >= counts.back();
    if (strong && !fits && request.scaling.size() > 1) continue;
    int64_t all = strong ? strong_towers(config, counts) : 0;
    for (auto precision : precisions)
      for (auto strategy : or_else(request.strategies, config.strategy))
        for (int64_t number : processes)
          for (int64_t count : counts)
            if (count % number == 0)
              variants.push_back({scaling, kind, count, number,
                                  strong ? all : count * request.towers_per_device, precision,
                                  strategy});
  }
  return variants;
}

RunConfig config_of(const Variant& variant, const RunConfig& config) {
  RunConfig run = config;
  run.global_batch.reset();  // batch_size is set, and the same for all variants
  run.towers = variant.towers;
  bool cpu = variant.kind == Kind::cpu;
  run.devices = {cpu ? fmt::format("{}xcpu", variant.devices / variant.processes) : "cuda"};
  if (cpu) run.tower_threads = config.tower_threads.value_or(1);
  // A name such as cuda:3 need not be among the variant's devices.
  if (cpu || run.parameter_device != "cpu") run.parameter_device = "auto";
  run.precision = variant.precision;
  run.strategy = variant.strategy;
  return run;
}

std::vector<int> variant_cores(const Variant& variant, const BenchDevices& devices) {
  if (variant.kind == Kind::cuda) return {};
  auto count = static_cast<size_t>(variant.devices * devices.tower_threads);
  return {devices.cores.begin(), devices.cores.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                             count, devices.cores.size()))};
}

std::string variant_gpus(const Variant& variant, const BenchDevices& devices) {
  if (variant.kind == Kind::cpu) return "";
  return fmt::format("{}",
                     fmt::join(devices.gpus.begin(), devices.gpus.begin() + variant.devices, ","));
}

namespace {

struct BuiltInModel {
  std::string_view name, yaml;
};

constexpr std::array models = {
    BuiltInModel{"mlp", R"(
model: {name: mlp, hidden: [512, 256]}
data: {name: synthetic, synthetic: {kind: features, shape: [784], classes: 10}}
batch_size: 64
optimizer: {name: adam}
)"},
    BuiltInModel{"cnn", R"(
model: {name: cnn}
data: {name: synthetic, synthetic: {kind: images, shape: [28, 28, 1], classes: 10}}
batch_size: 64
optimizer: {name: adam}
)"},
    BuiltInModel{"resnet20", R"(
model: {name: resnet, variant: cifar, depth: 20}
data: {name: synthetic, synthetic: {kind: images, shape: [32, 32, 3], classes: 10}}
batch_size: 64
optimizer: {name: sgd, lr: 0.05, momentum: 0.9}
)"},
    BuiltInModel{"resnet50", R"(
model: {name: resnet, variant: imagenet, depth: 50}
data: {name: synthetic, synthetic: {kind: images, shape: [224, 224, 3], classes: 1000}}
batch_size: 8
optimizer: {name: sgd, lr: 0.01, momentum: 0.9}
)"},
    BuiltInModel{"gpt", R"(
model: {name: gpt, blocks: 6, width: 384, heads: 6}
data: {name: synthetic, synthetic: {kind: tokens, shape: [256], classes: 65}}
batch_size: 8
optimizer: {name: adamw, lr: 1.0e-3}
)"},
    BuiltInModel{"gpt2", R"(
model: {name: gpt, size: gpt2, context: 1024}
data: {name: synthetic, synthetic: {kind: tokens, shape: [256], classes: 50257}}
batch_size: 2
optimizer: {name: adamw, lr: 3.0e-4}
)"},
};

SampleSpec spec_of(const RunConfig& config) {
  try {
    return open_dataset(config.data, {.seed = config.seed}).train->spec();
  } catch (const Error& error) {
    throw Error(
        error.category(),
        fmt::format("{}; the benchmark needs the form of the config's samples also for "
                    "synthetic data; mend data, or describe the samples: data.name=synthetic "
                    "data.synthetic.kind=... data.synthetic.shape=... "
                    "data.synthetic.classes=...",
                    error.what()));
  }
}

SyntheticConfig::Kind kind_of(const SampleSpec& spec) {
  const std::string& input = spec.columns.front().name;
  if (input == "tokens") return SyntheticConfig::Kind::tokens;
  bool labels = spec.find("labels") != nullptr;
  if (labels && input == "images") return SyntheticConfig::Kind::images;
  if (labels && input == "features") return SyntheticConfig::Kind::features;
  fail(Category::config,
       "data.name: the synthetic dataset has labels, and a model of this dataset predicts numbers; "
       "use --data real");
}

}  // namespace

std::vector<std::string> built_in_models() {
  std::vector<std::string> names;
  for (const BuiltInModel& model : models) names.emplace_back(model.name);
  return names;
}

ConfigText built_in_model(const std::string& name) {
  auto found = std::ranges::find(models, name, &BuiltInModel::name);
  if (found != models.end())
    return {fmt::format("the built-in config of {}", name), std::string(found->yaml)};
  fail(Category::config, "--model {}: must be one of {}{}; --config reads the config of any model",
       name, fmt::join(built_in_models(), ", "), did_you_mean(nearest(name, built_in_models())));
}

void use_synthetic_data(RunConfig& config) {
  if (config.data.name == "synthetic") return;
  check_config(config);
  SampleSpec spec = spec_of(config);
  std::span<const int64_t> shape = spec.columns.front().shape.dims();
  DataConfig data;
  data.name = "synthetic";
  data.workers = config.data.workers;
  data.prefetch = config.data.prefetch;
  data.last_batch = config.data.last_batch;
  data.synthetic.kind = kind_of(spec);
  data.synthetic.shape.assign(shape.begin(), shape.end());
  data.synthetic.classes = spec.classes;
  config.data = data;
}

}  // namespace spire
