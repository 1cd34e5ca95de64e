// The variants of a benchmark: which counts of devices, precisions, strategies and processes it
// runs, and the config of each run.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spire/load_config.h>
#include <spire/run_config.h>

#include "tools/bench/report/bench_report.h"

namespace spire {

// The devices of this machine on which variants may run. A CPU device is tower_threads cores
// (logical CPUs), so that n devices are n times the hardware of one.
struct BenchDevices {
  std::vector<int> cores = {};  // logical CPUs that this process may use, as many as it has threads
  int64_t tower_threads = 1;    // of the config; 1 where it has none
  std::vector<std::string> gpus = {};  // uuids
  std::string why_no_gpu = {};         // empty if there are GPUs

  int64_t count(Kind kind) const;
};
BenchDevices devices_here(const RunConfig& config);

// Empty lists stand for the defaults.
struct VariantRequest {
  std::vector<int64_t> counts = {};  // devices; default: 1, 2, 4, ... and all of them
  std::optional<Kind> kind = {};     // default: GPUs where there are any, else CPUs
  std::vector<Scaling> scaling = {Scaling::strong, Scaling::weak};
  std::vector<RunConfig::Precision> precisions = {};  // default: the config's
  std::vector<RunConfig::Strategy> strategies = {};   // default: the config's
  std::vector<int64_t> processes = {1};               // each for the counts of devices it divides
  int64_t towers_per_device = 1;                      // weak scaling
};

// Returns the variants in the order of scaling, precision, strategy, processes and counts. Strong:
// the config's towers, else as many as the largest count; left out beside weak scaling if the
// config has fewer towers than devices. Weak: towers_per_device for each device. Throws
// Error(config) for counts above what is there, fewer towers than devices, processes that divide no
// count, fp16 on CPUs, batch_size auto, and a global_batch without towers; Error(device) if there
// is no GPU.
std::vector<Variant> make_variants(const VariantRequest& request, const RunConfig& config,
                                   const BenchDevices& devices);

// Returns the config of each process of a variant's run. The processes may use only
// variant_cores(), or see only variant_gpus(). batch_size is the same for all variants.
RunConfig config_of(const Variant& variant, const RunConfig& config);
std::vector<int> variant_cores(const Variant& variant, const BenchDevices& devices);  // empty: all
std::string variant_gpus(const Variant& variant, const BenchDevices& devices);        // "uuid,uuid"

// What a benchmark trains in the place of a config's model or data.
std::vector<std::string> built_in_models();  // "mlp", "cnn", ...
// Returns one of them as YAML, with synthetic data. Throws Error(config) with the known names.
ConfigText built_in_model(const std::string& name);

// Replaces the config's dataset by random samples in memory of the same shape, which need no
// decoding, normalization or augmentation. Opens the dataset to learn that shape. Throws
// Error(config) for targets that the synthetic dataset lacks, and, with a remedy, what
// open_dataset() throws.
void use_synthetic_data(RunConfig& config);

}  // namespace spire
