// The report at the start of a run: model, task, data, devices with their memory, and the
// guarantee.
#pragma once
#include <cstdint>
#include <string>

#include <spire/observer.h>

#include "engine/run/run_setup.h"

namespace spire::inline run {

// Exchanges the memory plans, on all ranks together. total_steps: at the end of the run.
StartInfo start_info(const RunSetup& setup, const Trainer& trainer, int64_t total_steps);

// "classify images into 10 classes", "predict 3 values from 12 features". Columns of the data that
// the task ignores are named: "...; labels are not used".
std::string task_text(Task task, const SampleSpec& spec);

}  // namespace spire::inline run
