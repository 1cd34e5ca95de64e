// Dataset of pairs of image files: an image, and its target, which is an image or a mask of the
// same size. pair_listing.h says where they are.
#pragma once
#include "engine/data/dataset.h"

namespace spire::inline data {

// Columns: images (H, W, 3), and target_images (H, W, 3) or masks (H, W). Each read decodes both
// files, resizes them to data.image.size, if it is given, and augments both alike.
DatasetPair open_image_pairs(const DataConfig& config, const ReadOptions& options);

}  // namespace spire::inline data
