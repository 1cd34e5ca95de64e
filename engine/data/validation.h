// Validation data of a run (data.val): a share of the training samples, or files of their own. It
// decides which checkpoint is best and when to stop, so that the test data does not.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/data/dataset.h"

namespace spire {

// Samples of a dataset, both ascending.
struct ValidationSplit {
  std::vector<int64_t> train, val;
};

// Marks round(share * count) of `count` things to hold out, by a permutation whose key is `stratum`
// alone: a class, or 0 without classes. share: in [0, 1].
std::vector<bool> held_out_of(int64_t count, double share, int32_t stratum);

// Chooses round(share * n) of the n samples of each class, or of all where there are no labels. The
// choice is a function of the labels, or of the count, alone: equal for every seed and on any
// devices. Windows of tokens move by less than their length each epoch, so they are chosen in runs
// of 8 neighbours, and the window before a run is in neither part. Throws Error(config) if one of
// the parts would be empty.
ValidationSplit split_validation(const Dataset& train, double share);

// Moves the share config.val.share of data.train to data.val. plain: opens the same training data
// with ReadOptions::plain, from which data.val then reads; called only if that reads samples
// otherwise (augmentation, images in the size of evaluations, windows of tokens). Throws
// Error(config) or Error(data).
void hold_out_validation(const DataConfig& config, const std::function<DatasetPair()>& plain,
                         DatasetPair& data);

// Opens the files of config.val.path, in the form of data.path, as data.val: all their samples,
// whether the files call them training or test data, images in the size of evaluations. They are
// normalized as the training data, and have its classes and vocabulary, of which they may lack
// some. Characters that the vocabulary lacks are left out, and a note counts them. Throws as
// open_dataset(); Error(config) if a file belongs to the test data, too; Error(data) if columns
// differ, and for classes that the training data lacks.
void open_validation(const DataConfig& config, const ReadOptions& options, DatasetPair& data);

}  // namespace spire
