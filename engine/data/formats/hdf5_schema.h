// Schema of the samples in an HDF5 file: columns, classes, normalization.
#pragma once
#include "engine/data/dataset.h"
#include "engine/data/formats/hdf5_rows.h"

namespace spire::inline data {

// Infers from the config's keys, else attributes, else statistics of the training rows. Throws
// Error(data) for attributes that do not fit and for implausible tasks.
SampleSpec infer_hdf5_schema(Hdf5Rows& rows, const DataConfig& config, const ReadOptions& options);

// Throws Error(data) unless the columns of both splits agree.
void require_same_columns(const Hdf5Rows& train, const Hdf5Rows& test);

// Throw Error(data), with what to store or set, where names and numbers contradict the task that
// types imply. task: data.hdf5.task, which overrides them.
void require_plausible_task(const Hdf5Table& table, TargetKind task);
void require_plausible_classes(const Hdf5Table& table, TargetKind task, int64_t classes);

}  // namespace spire::inline data
