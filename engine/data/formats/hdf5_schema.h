// Infers the schema of the samples in an HDF5 file: columns, classes, normalization.
#pragma once
#include <spire/run_config.h>

#include "engine/data/dataset.h"
#include "engine/data/formats/hdf5_rows.h"

namespace spire::inline data {

// Infers from the config, else from attributes, else from training rows. Throws Error(data).
SampleSpec infer_hdf5_schema(Hdf5Rows& rows, const DataConfig& config, const ReadOptions& options);

void require_same_columns(const Hdf5Rows& train, const Hdf5Rows& test);  // throws Error(data)

// Throw Error(data) if dataset names or numbers contradict the task that the types imply. task:
// data.hdf5.task; if it is not auto, it only has to agree with the types.
void require_plausible_task(const Hdf5Table& table, TargetKind task);
void require_plausible_classes(const Hdf5Table& table, TargetKind task, int64_t classes);

}  // namespace spire::inline data
