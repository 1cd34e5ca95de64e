// Images in folders: data.path/train/<class>/*.jpg|jpeg|png and the same below val or test. The
// classes are the folders of train in alphabetical order; val and test may lack some of them.
// Images are decoded by the reader threads, each time they are read; their size in a batch is
// data.image.size (224). They are normalized by data.mean and data.stddev, or else by those of
// ImageNet's images.
#pragma once
#include "engine/data/dataset.h"

namespace spire::inline data {

DatasetPair open_image_folder(const DataConfig& config, const ReadOptions& options);

}  // namespace spire::inline data
