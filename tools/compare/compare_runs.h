// Says where two runs differ: by the configs, by what their directories record, and, with a replay
// of both, by the first tensor.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <spire/observer.h>
#include <spire/run_config.h>

#include "engine/checkpoint/training_state.h"
#include "engine/observe/json_lines.h"
#include "engine/run/audit/bit_keys.h"
#include "tools/audit/audit_log.h"
#include "tools/compare/replay_pair.h"

namespace spire {

// What the directory of a run holds.
struct RunRecords {
  std::filesystem::path directory;
  RunConfig config;  // of the newest checkpoint, which has towers and threads; else config.yaml
  std::map<int64_t, StepRecord> steps;
  std::map<int64_t, std::filesystem::path> checkpoints;  // by step
  std::optional<AuditLog> log;                           // none: the run kept no chain
  int64_t steps_per_epoch = 0;  // from the newest checkpoint; 0: it has finished no epoch
};

// overrides: config keys that both runs are to have, such as "devices=cpu". Throws Error(config),
// Error(checkpoint).
RunRecords read_run_records(const std::filesystem::path& directory,
                            const std::vector<std::string>& overrides = {});

// Returns "optimizer.lr: 0.1 and 0.2" for each key that matters to bits and differs, those of the
// starting weights (init) included. Devices, strategy and the like do not matter.
std::vector<std::string> config_differences(const RunConfig& a, const RunConfig& b,
                                            const BitContext& context = {});
BitContext common_context(const RunRecords& a, const RunRecords& b);  // devices, from their chains

// A step that both runs record.
struct StepDifference {
  int64_t step = 0;
  StepRecord a, b;
  std::optional<TensorDifference> chained = {};  // where in the step, if chains show it
};

struct RecordComparison {
  int64_t steps = 0;               // that both record: of metrics.jsonl, or else of the chains
  int64_t hashes = 0;              // of them with the weights' hash in both
  int64_t last = 0;                // the newest
  std::optional<bool> same_chain;  // at the newest step of which both record the chain
  // The first step of metrics.jsonl or of the chains in which a number differs, to the last bit.
  std::optional<StepDifference> first;
};
RecordComparison compare_records(const RunRecords& a, const RunRecords& b);

// Returns the first element of two states at `step` that differs in bits, in the order of the
// groups, of "weights fc1.weight" or "momentum of fc1.weight"; none if the states are equal.
// Optimizer state that only one of them has is no difference: its run trained what the other had
// frozen.
std::optional<TensorDifference> first_difference(int64_t step, const SavedTensors& a,
                                                 const SavedTensors& b);

// Returns several lines. configs: of config_differences().
std::string to_text(const RunRecords& a, const RunRecords& b,
                    const std::vector<std::string>& configs, const RecordComparison& comparison);

// Finds the first tensor in which two runs differ, by a replay of both from their last common
// checkpoint: step by step, then within the first step that differs kernel by kernel.
struct Bisection {
  int64_t from = 0;  // step of the common checkpoint; 0: both were replayed from their beginning
  int64_t to = 0;    // last step that was replayed
  std::optional<TensorDifference> difference;
  // Which run's own record is not what its replay computes, and where: memory or a file was
  // damaged, or the run is of another machine. Empty: none. The replays are equal up to there.
  std::string deviation;
};

// Both runs train in this process, on the devices of their configs. Throws what train() throws.
Bisection bisect(const RunRecords& a, const RunRecords& b);

std::string to_text(const Bisection& bisection);  // several lines

}  // namespace spire
