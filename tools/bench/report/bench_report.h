// Results of `trainer bench`: how a model's speed grows with devices, beside what the machine
// itself reaches in products, copies and sums.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <spire/observer.h>
#include <spire/run_config.h>

namespace spire {

// strong: the number of towers is fixed, so each count of devices trains the same bits. weak: the
// number of towers grows with the devices.
enum class Scaling { strong, weak };
enum class Kind { cpu, cuda };

// One way to run the model.
struct Variant {
  Scaling scaling = Scaling::strong;
  Kind kind = Kind::cpu;
  int64_t devices = 1;    // of all processes together
  int64_t processes = 1;  // divides `devices`
  int64_t towers = 1;
  RunConfig::Precision precision = RunConfig::Precision::fp32;
  RunConfig::Strategy strategy = RunConfig::Strategy::parameter_device;
  bool operator==(const Variant&) const = default;
};

// Returns "2 cpu, 1 process, 8 towers, bf16, mirrored".
std::string to_text(const Variant& variant);

using MemoryOfKinds = std::map<std::string, int64_t>;  // kind -> bytes

// One timed run of a variant, in processes of its own. Bytes are sums over processes.
struct Measurement {
  double samples_per_s = 0;       // over the timed steps
  double step_seconds = 0;        // mean over the timed steps
  double first_step_seconds = 0;  // from the start of the process to the end of its first step
  StepTimes times;                // means over the timed steps and all lanes
  std::string parameter_hash;     // after the last step
  MemoryOfKinds planned_memory, peak_memory;  // of all devices together
  int64_t peak_rss = 0;                       // bytes of host memory, as the kernel counts them
  // Of the machine over the timed steps, other programs' work included; rank 0 reads the counters.
  // None: no counter is readable.
  std::optional<double> joules;
  // How many of Machine::cores other programs used while the processes ran; none: unknown.
  std::optional<double> others_cores = {};
};

// What the machine reaches without a model, measured by the benchmark itself with as many devices
// as a variant has; 0 where it was not measured.
struct Ceilings {
  Kind kind = Kind::cpu;
  int64_t devices = 1;
  int64_t threads = 1;  // of a device that is a CPU
  double fp32_flops_per_s = 0, bf16_flops_per_s = 0, fp16_flops_per_s = 0;  // of matrix products
  double copy_bytes_per_s = 0;        // bytes read and bytes written
  double all_reduce_bytes_per_s = 0;  // "bus bandwidth": 2 (n - 1) / n times the bytes summed
};
double flops_per_s(const Ceilings& ceilings, RunConfig::Precision precision);

// The rounds of one variant.
struct Point {
  Variant variant;
  std::vector<Measurement> rounds;  // empty if it could not run
  std::string error;                // why it could not run; empty: it ran
};

struct Machine {
  std::string host, system;  // "Linux 6.1.0 x86_64"
  std::string cpu;           // model name
  int64_t cores = 0;         // logical CPUs that the process may use
  std::string instructions;  // what kernels use: "AVX-512, BF16, AMX"
  std::vector<std::string> gpus;
};

struct BenchReport {
  std::string date;     // "2026-11-23T08:44:17Z"
  std::string spire;    // version of Spire, with commit if known
  std::string command;  // as typed
  Machine machine;
  std::string energy;             // counters behind joules, or why there are none
  std::string model;              // "resnet"
  int64_t parameters = 0;         // trainable numbers
  int64_t batch_size = 0;         // samples per tower per step
  double flops_per_sample = 0;    // of forward and backward: 2 per multiply-add
  int64_t steps = 0, warmup = 0;  // timed steps of a round; steps before them
  std::string data;               // "synthetic, in memory"
  std::string config;             // YAML
  RunConfig::Reduction reduction = RunConfig::Reduction::invariant;  // native: no bits promised
  std::vector<Ceilings> ceilings;
  std::vector<Point> points;
};

// Figures of a point that its rounds give.
struct PointFigures {
  double samples_per_s = 0;          // median over rounds
  double slowest = 0, fastest = 0;   // samples/s of the slowest and of the fastest round
  std::optional<double> efficiency;  // speed per device / speed of one device, if known
  double flops_per_s = 0;
  std::optional<double> ceiling_share;  // of the products' ceiling for this precision
  std::optional<double> joules_per_sample;
  std::optional<double> others_cores;  // median over rounds
  StepTimes times;  // of the round of median speed; `other` fills up to its step time
  double step_seconds = 0;
  std::string parameter_hash;  // empty if rounds differ
};

PointFigures figures_of(const BenchReport& report, const Point& point);

// The largest amounts over all rounds, each by itself, in bytes.
struct PointMemory {
  int64_t rss = 0;
  MemoryOfKinds peak, planned;
};
PointMemory memory_of(const Point& point);
int64_t total_bytes(const MemoryOfKinds& memory);

// Returns the median: of an even number of values the mean of the two in the middle. Throws
// Error(unexpected) if there are none.
double median(std::vector<double> values);
std::vector<double> speeds_of(const Point& point);  // samples/s of each round
// Returns the round of median speed; of an even number the slower of the two in the middle.
// REQUIRES: there are rounds.
const Measurement& median_round(const Point& point);

// Returns whether all strong points of one precision, in all rounds, have one parameter hash; none
// if there are fewer than two such points, or if the reduction promises no bits.
std::optional<bool> same_bits(const BenchReport& report, RunConfig::Precision precision);
// Returns "✓" if a strong point has the hash of the first strong point of its kind of device and
// precision, "✗" if not; "" for weak points, with native reduction, and where there is nothing to
// compare.
std::string tick_of(const BenchReport& report, const Point& point);

}  // namespace spire
