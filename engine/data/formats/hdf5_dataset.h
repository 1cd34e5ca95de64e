// Datasets in an HDF5 file of any size: config.path is the file, config.hdf5 the names within it
// (hdf5_table.h says what each may be). Chunks are read as they are needed.
//
// Attributes of the input dataset: mean, stddev, lists of a number a channel (of pixel / 255) or a
// feature; feature_names, a list of words. Of the target dataset: class_names, a list of words, or
// classes, a number; vocabulary, of tokens, as make_vocabulary() reads it. Without them
// mean and stddev are those of up to 10 000 training samples, evenly spread over the file; classes
// are as many as the training labels show.
#pragma once
#include "engine/data/dataset.h"

namespace spire::inline data {

DatasetPair open_hdf5(const DataConfig& config, const ReadOptions& options);

}  // namespace spire::inline data
