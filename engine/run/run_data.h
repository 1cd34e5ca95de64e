// Opens the dataset of a run, settles the config keys that depend on it, and makes its loaders.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <spire/observer.h>
#include <spire/run_config.h>
#include <spire/train.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/data/dataset.h"
#include "engine/data/loader.h"
#include "engine/train/placement/placement.h"
#include "models/model.h"

namespace spire {

// Opens the dataset, of the config or of the program (RunOptions::data), and replaces `auto` in
// data.normalize and model.name. resumed: the checkpoint that the data must match, or null. Throws
// as open_dataset() and fit_to_checkpoint() do, and Error(data) if the program's data is not whole.
DatasetPair open_run_data(RunConfig& config, const RunOptions& options, const Placement& placement,
                          const LoadedCheckpoint* resumed, Observer& observer);

// Opens the data of a config as the run of a trained model read it. spec: the data of that run.
// model: what messages call the model. classes: whether labels must be those of the spec. all_test:
// as in ReadOptions. Throws what the dataset throws, and Error(data) for data that does not fit.
DatasetPair open_trained_data(const RunConfig& config, const SampleSpec& spec,
                              const std::string& model, bool classes, bool all_test = false);

// model: RunOptions::model.
Task run_task(const RunConfig& config, const Model* model, const DatasetPair& data);

// Returns the number of steps per epoch; 0 if data.last_batch: drop leaves none.
int64_t epoch_steps(const RunConfig& config, const DatasetPair& data, int64_t global_batch);

// Throws Error(config) if there are no steps in an epoch.
void require_batches(const RunConfig& config, const DatasetPair& data, const Placement& placement);

// Returns the columns of a training batch: those of the data and those that mixup and cutmix add.
std::vector<Column> train_columns(const RunConfig& config, const DatasetPair& data);

// Make the loaders of training batches, shuffled and mixed, and of batches of test or validation
// data, in its order. in_use: see LoaderOptions. Loaders outlive the trainer, which copies from
// their batches.
std::unique_ptr<BatchLoader> train_loader(const RunConfig& config, const DatasetPair& data,
                                          const Placement& placement, int64_t in_use);
std::unique_ptr<BatchLoader> evaluation_loader(const RunConfig& config, const Dataset& data,
                                               const Placement& placement);

// "2 broken samples left out; the first: ...". REQUIRES: data.skipped() > 0
std::string left_out_text(const Dataset& data);

// Warns of samples that a dataset left out because they cannot be read, each time that their number
// has grown.
class SkippedSampleWarnings {
 public:
  void warn(const DatasetPair& data, Observer& observer);

 private:
  std::map<const Dataset*, int64_t> reported_;  // number of samples
};

}  // namespace spire
