#include "tools/bench/limits/ceilings.h"

#include <algorithm>

#include <unistd.h>

#include <spire/error.h>

namespace spire {
namespace {

constexpr int64_t mebi = int64_t{1} << 20;

// Bytes; a typical size where the system does not know it.
int64_t last_level_cache() {
  int64_t bytes = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
  return bytes > 0 ? bytes : 32 * mebi;
}

int64_t free_bytes(Kind kind) {
  DeviceId first{kind == Kind::cuda ? DeviceKind::cuda : DeviceKind::cpu, 0};
  DeviceSpace space = space_of(first);
  return static_cast<int64_t>(space.free.value_or(space.total));
}

// Returns whether a device computes in this dtype, by the same rule as a run's check.
bool computes(DeviceId device, DType dtype) {
  try {
    expect_precision(device, dtype);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool all_compute(DeviceTeam& team, DType dtype) {
  for (int lane = 0; lane < team.size(); ++lane)
    if (!computes(team.device(lane), dtype)) return false;
  return true;
}

}  // namespace

CeilingOptions default_ceiling_options(Kind kind, int64_t devices, const RunConfig& config) {
  CeilingOptions options;
  options.tf32 = config.cuda.tf32;
  if (kind == Kind::cuda) {
    options.products = {{4096, 4096, 4096}, {8192, 8192, 4096}, {8192, 8192, 8192}};
    options.copy_bytes = std::min(1024 * mebi, free_bytes(kind) / 8) * devices;
  } else {
    options.device_threads = config.tower_threads.value_or(1);
    int64_t threads = devices * options.device_threads;
    options.products = {{512, 512, 512}, {1024, 1024, 1024}, {2048, 1024, 1024}};
    options.copy_bytes =
        std::min(std::max(last_level_cache(), 64 * mebi * threads), free_bytes(kind) / 8);
  }
  options.sum_floats = 16 * mebi;
  options.bucket = config.bucket;
  return options;
}

double copy_bytes_per_s(DeviceTeam& team, const CeilingOptions& options) {
  size_t bytes = static_cast<size_t>(options.copy_bytes) / static_cast<size_t>(team.size());
  std::vector<std::unique_ptr<DeviceMemory>> from, to;
  for (int lane = 0; lane < team.size(); ++lane) {
    from.push_back(team.pool(lane).allocate(MemoryKind::workspace, bytes));
    to.push_back(team.pool(lane).allocate(MemoryKind::workspace, bytes));
  }
  // A page that was never written is no memory: all such pages are one.
  team.run([&](int lane) {
    team.stream(lane).fill_zero(from[static_cast<size_t>(lane)]->data(), bytes);
  });
  double seconds = team.best_seconds(options.repeats, [&](int lane) {
    auto l = static_cast<size_t>(lane);
    team.stream(lane).copy(to[l]->data(), from[l]->data(), bytes);
  });
  return 2 * static_cast<double>(bytes) * team.size() / seconds;
}

Ceilings measure_ceilings(Kind kind, int64_t devices, const CeilingOptions& options) {
  DeviceTeam team(kind, devices, options.device_threads, {.tf32 = options.tf32});
  Ceilings ceilings{.kind = kind, .devices = devices, .threads = team.size() / devices};
  auto products = [&](DType dtype) {
    return all_compute(team, dtype) ? product_flops_per_s(team, dtype, options) : 0.0;
  };
  ceilings.fp32_flops_per_s = products(DType::f32);
  ceilings.bf16_flops_per_s = products(DType::bf16);
  ceilings.fp16_flops_per_s = products(DType::f16);
  ceilings.copy_bytes_per_s = copy_bytes_per_s(team, options);
  if (devices == 1) return ceilings;
  DeviceTeam adders(kind, devices);
  ceilings.all_reduce_bytes_per_s = all_reduce_bytes_per_s(adders, options);
  return ceilings;
}

Roofline roofline_of(const Ceilings& ceilings, double share) {
  return {.fp32 = share * ceilings.fp32_flops_per_s,
          .bf16 = share * ceilings.bf16_flops_per_s,
          .fp16 = share * ceilings.fp16_flops_per_s,
          .bytes_per_s = share * ceilings.copy_bytes_per_s};
}

}  // namespace spire
