// Reports of a run to its observer: the start, warnings, and the summary at the end.
#pragma once
#include <cstdint>
#include <string>

#include <spire/observer.h>

#include "engine/run/run_checkpoints.h"
#include "engine/run/run_context.h"
#include "engine/run/run_directory.h"
#include "engine/run/run_setup.h"

namespace spire {

// Describes model, task, data, devices and memory. All ranks call it.
StartInfo start_info(const RunSetup& setup, const TowerTrainer& trainer, int64_t total_steps);

// Returns a text such as "classify images into 10 classes"; it names columns that the task ignores.
std::string task_text(Task task, const SampleSpec& spec);

// Warns of GPU libraries whose versions do not fit each other.
void warn_of_cuda_versions(const Placement& placement, Observer& observer);

// On rank 0, warns of config keys and libraries that changed since the resumed checkpoint.
void warn_of_changes(const RunSetup& setup, Observer& observer);

// Warns if batch norm computes its statistics from the samples of one tower, and these are fewer
// than 8.
void warn_of_small_batches(const RunSetup& setup, const ParameterLayout& layout,
                           Observer& observer);

// Warns of keys of the config that change nothing with this data, or make every evaluation the
// best.
void warn_of_keys_without_effect(const RunSetup& setup, Observer& observer);

// Warns of frozen parameters in a run that begins with random weights.
void warn_of_frozen_noise(const ParameterLayout& layout, Observer& observer);

// Returns the content of summary.json. ema_hash: hash of the averaged weights, or "".
RunSummary summarize(const RunContext& run, const RunOutput& output,
                     const RunCheckpoints& checkpoints, int exit, const std::string& stopped_by,
                     const std::string& ema_hash);

}  // namespace spire
