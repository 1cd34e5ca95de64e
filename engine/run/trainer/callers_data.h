// The data of a Trainer that is given batches: its columns, and how many samples there are.
#pragma once
#include <spire/dataset.h>
#include <spire/run_config.h>
#include <spire/trainer.h>

namespace spire {

// Datasets without samples, for the columns of `spec`; images and features get the run's dtype.
// Without TrainerOptions::train_samples an epoch has no end. Throws Error(config) for negative
// numbers, and for columns that Spire knows with another dtype than ColumnRows have.
DataSource callers_data(const SampleSpec& spec, const TrainerOptions& options);

// Throws Error(config) for config keys that need what batches of the caller do not tell: an epoch's
// length for the schedule, or datasets whose samples are mixed.
void check_config_for_batches(const RunConfig& config, const TrainerOptions& options);

}  // namespace spire
