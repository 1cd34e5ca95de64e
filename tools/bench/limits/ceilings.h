// What the machine itself reaches with some devices at work at once: matrix products by Spire's
// kernels, copies of large arrays, and sums over devices by Spire's reduction.
#pragma once
#include <cstdint>
#include <vector>

#include "tools/bench/limits/device_team.h"
#include "tools/bench/report/bench_report.h"
#include "tools/performance/op_work.h"

namespace spire {

struct ProductSize {
  int64_t rows = 0, columns = 0, depth = 0;  // (rows, depth) times (depth, columns)
};

struct CeilingOptions {
  std::vector<ProductSize> products;  // the fastest counts
  int64_t device_threads = 1;         // of a CPU device
  int64_t copy_bytes = 0;             // of one array, all devices' parts together
  int64_t sum_floats = 0;             // of each device's buffer
  BucketConfig bucket;                // sizes of the buckets in which the buffer is reduced
  bool tf32 = false;                  // GPUs: fp32 products in TF32, as CudaConfig::tf32
  Repeats repeats;
};

// Returns sizes that are large enough to measure this machine: the two arrays of a copy take twice
// the last-level cache, or 2 GiB of a GPU, but at most a quarter of the free memory. Threads of a
// CPU device (1 where the config has no tower_threads), buckets and TF32 are the config's.
// Measuring takes about 3 s.
CeilingOptions default_ceiling_options(Kind kind, int64_t devices, const RunConfig& config);

// Measures the ceilings; each quantity counts by its fastest round. Frees all memory before it
// returns. All threads of a CPU device multiply and copy; one of them adds, as in a run. A
// precision that the devices lack is 0, as is the all-reduce of one device. Throws Error(device)
// for fewer GPUs than `devices`, Error(out_of_memory).
//
// copy_bytes_per_s counts bytes read and bytes written. all_reduce_bytes_per_s is 2 (n - 1) / n
// times the bytes of a buffer, per second ("busbw" of nccl-tests, doc/PERFORMANCE.md): between
// lanes that read each other's memory on CPUs, by NCCL between GPUs.
Ceilings measure_ceilings(Kind kind, int64_t devices, const CeilingOptions& options);

// Returns the roofline of a share of the devices together: share is 1 / devices for one device, and
// 1 / (devices * lanes) for one of its lanes.
Roofline roofline_of(const Ceilings& ceilings, double share);

// The parts of measure_ceilings(). Each returns the rate of all devices of the team together.
double product_flops_per_s(DeviceTeam& team, DType dtype, const CeilingOptions& options);
double copy_bytes_per_s(DeviceTeam& team, const CeilingOptions& options);
double all_reduce_bytes_per_s(DeviceTeam& team, const CeilingOptions& options);

}  // namespace spire
