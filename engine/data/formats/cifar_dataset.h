// CIFAR-10 and CIFAR-100 in their binary files. path auto looks in cifar-10-batches-bin or
// cifar-100-binary under $SPIRE_DATA, ./data and /usr/share/datasets. Class names are read from the
// names' file that comes with the set, where it is there.
#pragma once
#include "engine/data/dataset.h"

namespace spire::inline data {

DatasetPair open_cifar10(const DataConfig& config, const ReadOptions& options);
DatasetPair open_cifar100(const DataConfig& config, const ReadOptions& options);

}  // namespace spire::inline data
