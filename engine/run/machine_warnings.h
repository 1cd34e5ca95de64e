// What a user should know of the machine before a run, and the environment of NCCL and CUDA.
#pragma once
#include <spire/observer.h>

#include "engine/doctor/run_checks.h"
#include "engine/run/run_setup.h"

namespace spire::inline run {

// writes: whether this run writes checkpoints.
RunUse use_of(const RunSetup& setup, const ParameterLayout& layout, bool writes);

// Warns of what the doctor's short form finds (doctor/run_checks.h), on rank 0 of its own host.
void warn_of_machine(const RunSetup& setup, const ParameterLayout& layout, bool writes,
                     Observer& observer);

// For runs on GPUs: notes the variables of NCCL and CUDA that are set, and NCCL's files.
void note_environment(const RunSetup& setup, Observer& observer);

}  // namespace spire::inline run
