// Reports with plausible figures and known closed forms for tests and for a look at the pages.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tools/bench/report/bench_report.h"

namespace spire {

using Precision = RunConfig::Precision;
using Strategy = RunConfig::Strategy;

// Samples/s that the sample reports have for round i of a variant: devices times a speed per
// device, times 0.97 for each doubling, 1 % more for each later round.
inline double sample_speed(const Variant& variant, int64_t round) {
  auto devices = static_cast<double>(variant.devices);
  double one = variant.precision == Precision::bf16 ? 1900 : 1000;
  if (variant.strategy == Strategy::mirrored) one *= 0.96;
  double lost = std::pow(0.97, std::log2(devices));
  return devices * one * lost * (1 + 0.01 * static_cast<double>(round));
}

inline Measurement sample_round(const Variant& variant, int64_t round, int64_t batch_size) {
  Measurement measured;
  measured.samples_per_s = sample_speed(variant, round);
  double step = static_cast<double>(batch_size * variant.towers) / measured.samples_per_s;
  measured.step_seconds = step;
  measured.first_step_seconds = 0.25 + step;
  double split = variant.devices == 1 ? 0 : 0.02 * std::log2(static_cast<double>(variant.devices));
  measured.times = {.data = 0.01 * step,
                    .copy = variant.kind == Kind::cuda ? 0.01 * step : 0,
                    .forward = (0.31 - split / 2) * step,
                    .backward = (0.58 - split / 2) * step,
                    .reduce = split * step,
                    .update = 0.05 * step,
                    .replicate = 0.02 * step,
                    .other = 0};
  measured.parameter_hash =
      variant.scaling == Scaling::weak
          ? fmt::format("{:016x}", 0x9e3779b97f4a7c15u * static_cast<uint64_t>(variant.towers))
          : std::string(variant.precision == Precision::bf16 ? "5f0c2a7be19d4436"
                                                             : "c81e728d9d4c2f63");
  int64_t mib = int64_t{1} << 20, n = variant.devices;
  measured.planned_memory = {{"weights", 2 * n * mib},
                             {"gradients", 2 * n * mib},
                             {"optimizer", 4 * mib},
                             {"activations", 40 * n * mib},
                             {"workspace", 3 * n * mib}};
  measured.peak_memory = measured.planned_memory;
  measured.peak_rss = (55 + 50 * n) * mib;
  return measured;
}

struct SampleShape {
  std::vector<int64_t> devices = {1, 2, 4, 8};
  std::vector<Precision> precisions = {Precision::fp32, Precision::bf16};
  std::vector<Strategy> strategies = {Strategy::parameter_device, Strategy::mirrored};
  std::vector<Scaling> scalings = {Scaling::strong, Scaling::weak};
  int64_t rounds = 3;
  Kind kind = Kind::cpu;
};

inline BenchReport sample_report(const SampleShape& shape = {}) {
  BenchReport report{.date = "2026-11-23T08:44:17Z",
                     .spire = "0.1.0 (cfe441a)",
                     .command = "trainer bench --model resnet20 --counts 1,2,4,8",
                     .machine = {.host = "anna",
                                 .system = "Linux 6.1.0 x86_64",
                                 .cpu = "AMD EPYC 9B14",
                                 .cores = 16,
                                 .instructions = "AVX-512, BF16",
                                 .gpus = {}},
                     .energy = "package-0 (RAPL)",
                     .model = "resnet20",
                     .parameters = 272474,
                     .batch_size = 128,
                     .flops_per_sample = 2.5e8,
                     .steps = 20,
                     .warmup = 5,
                     .data = "synthetic, in memory",
                     .config = "model: {name: resnet20}\nbatch_size: 128\n",
                     .ceilings = {},
                     .points = {}};
  for (int64_t n : shape.devices)
    report.ceilings.push_back({.kind = shape.kind,
                               .devices = n,
                               .fp32_flops_per_s = 1e12 * static_cast<double>(n),
                               .bf16_flops_per_s = 2e12 * static_cast<double>(n),
                               .fp16_flops_per_s = 0,
                               .copy_bytes_per_s = 1.5e10,
                               .all_reduce_bytes_per_s = n > 1 ? 8e9 : 0});
  for (Scaling scaling : shape.scalings)
    for (Precision precision : shape.precisions)
      for (Strategy strategy : shape.strategies)
        for (int64_t n : shape.devices) {
          Point point{.variant = {.scaling = scaling,
                                  .kind = shape.kind,
                                  .devices = n,
                                  .processes = 1,
                                  .towers = scaling == Scaling::strong ? 8 : n,
                                  .precision = precision,
                                  .strategy = strategy},
                      .rounds = {},
                      .error = {}};
          for (int64_t i = 0; i < shape.rounds; ++i)
            point.rounds.push_back(sample_round(point.variant, i, report.batch_size));
          report.points.push_back(point);
        }
  return report;
}

}  // namespace spire
