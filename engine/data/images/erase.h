// Random erasing: a rectangle of an image is blanked. Zhong, Zheng, Kang, Li, Yang: "Random Erasing
// Data Augmentation", 2020.
#pragma once
#include <cstdint>

#include <spire/run_config.h>

#include "engine/data/images/image_decode.h"

namespace spire::inline data {

struct Rectangle {  // in whole pixels
  int64_t top = 0, left = 0, height = 0, width = 0;
};

// Draws a rectangle with a share of the area of min_share to max_share and an aspect ratio of 0.3
// to 3.3, as torchvision.transforms.RandomErasing does: ten attempts to find one that fits. It is
// empty where nothing is erased. A function of all its arguments.
Rectangle erased_rectangle(const EraseConfig& config, ImageSize size, uint64_t seed, int64_t epoch,
                           int64_t sample);

}  // namespace spire::inline data
