// The data of a run: opens its dataset, settles the config keys that depend on it, and makes the
// loaders that read it batch by batch.
#pragma once
#include <memory>
#include <vector>

#include <spire/observer.h>
#include <spire/run_config.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/data/dataset.h"
#include "engine/data/loader.h"
#include "engine/train/placement.h"
#include "models/model.h"

namespace spire::inline run {

// Opens the dataset. config: data.normalize and model.name are settled where they are auto.
// resumed: the checkpoint whose classes and columns the data must match; null: none. The observer
// hears the data's notes, and of model keys that the chosen model does not use. Throws as
// open_dataset() and fit_to_checkpoint() do.
DatasetPair open_run_data(RunConfig& config, const Placement& placement,
                          const LoadedCheckpoint* resumed, Observer& observer);

Task run_task(const RunConfig& config, const DatasetPair& data);

// Steps of an epoch; 0 where data.last_batch: drop leaves none.
int64_t epoch_steps(const RunConfig& config, const DatasetPair& data, int64_t global_batch);

// Columns of a training batch: the data's, as mixup and cutmix change them.
std::vector<Column> train_columns(const RunConfig& config, const DatasetPair& data);

// Streams of the run's devices copy from the loaders' batches, so a trainer that reads them must be
// destroyed before they are. The training loader shuffles and mixes; held: see LoaderOptions. The
// test loader reads the samples in the dataset's order, one batch at a time.
std::unique_ptr<BatchLoader> train_loader(const RunConfig& config, const DatasetPair& data,
                                          const Placement& placement, int64_t held);
std::unique_ptr<BatchLoader> test_loader(const RunConfig& config, const DatasetPair& data,
                                         const Placement& placement);

}  // namespace spire::inline run
