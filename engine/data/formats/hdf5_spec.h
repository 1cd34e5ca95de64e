// What the samples of an HDF5 file are: columns, classes, normalization. Private to this folder.
#pragma once
#include "engine/data/dataset.h"
#include "engine/data/formats/hdf5_rows.h"

namespace spire::inline data {

// Of the training half: attributes, the config's words, or else what the rows show.
SampleSpec hdf5_training_spec(Hdf5Rows& rows, const DataConfig& config, const ReadOptions& options);

// Throws Error(data) unless the test half's rows are of the same kind.
void require_same_rows(const Hdf5Rows& train, const Hdf5Rows& test);

}  // namespace spire::inline data
