#include "tools/bench/runs/variants.h"

#include <algorithm>

#include <fmt/ranges.h>

#include <spire/error.h>

#include "engine/base/text.h"
#include "engine/config/check.h"
#include "engine/config/words.h"
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

}  // namespace spire
