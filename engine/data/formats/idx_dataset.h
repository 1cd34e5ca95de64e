// Datasets in four IDX files: {train,t10k}-{images-idx3,labels-idx1}-ubyte[.gz].
#pragma once
#include "engine/data/dataset.h"

namespace spire::inline data {

// config.path is the folder of the files.
DatasetPair open_idx(const DataConfig& config, const ReadOptions& options);

// The same of ten classes; path auto looks in $SPIRE_DATA/fashion-mnist, ./data/fashion-mnist and
// /usr/share/datasets/fashion-mnist.
DatasetPair open_fashion_mnist(const DataConfig& config, const ReadOptions& options);

}  // namespace spire::inline data
