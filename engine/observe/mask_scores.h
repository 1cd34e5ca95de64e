// Scores of segmentation, from counts of pixels over all samples of an evaluation. (The mean of
// Dice is f1_macro() of these counts.)
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "engine/observe/class_scores.h"

namespace spire {

// Adds the pixels of one sample to `counts` (classes). mask: (pixels), -1: the pixel has no class
// and counts nowhere. logits: (pixels, classes); the first of the largest is found.
void count_pixels(std::span<const int32_t> mask, std::span<const float> logits,
                  std::span<ClassScore> counts);

// Mean of intersection over union (Jaccard), tp / (actual + predicted - tp), over the classes that
// occur, which some pixel has or the model finds. Empty without such a class.
std::optional<double> mean_iou(std::span<const ClassScore> counts);

// Share of the pixels with a class whose class is found. Empty if there are none.
std::optional<double> pixel_accuracy(std::span<const ClassScore> counts);

}  // namespace spire
