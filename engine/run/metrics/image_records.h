// Records of images: those that a model makes, and masks, whose pixels have classes.
#pragma once
#include <memory>

#include "engine/run/metrics/output_records.h"

namespace spire {

// mae, and ssim where the images are large enough for it. The target is the column target_images,
// or else the images themselves. with_ssim: whether ssim is asked for, which takes the most time.
std::unique_ptr<OutputRecords> image_records(const SampleSpec& spec, bool with_ssim);

// mean_iou, dice and pixel_accuracy.
std::unique_ptr<OutputRecords> mask_records(const SampleSpec& spec);

}  // namespace spire
