// Images of a sample of a model that makes images or finds the class of each pixel.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/data/images/png.h"
#include "engine/data/sample.h"
#include "models/model.h"

namespace spire {

bool has_sample_images(Task task);  // whether the functions below are for this task

// The column that outputs are compared with: target_images, masks, or else the images themselves.
const Column& target_column(const SampleSpec& spec);

// A row of a column of images.
PngImage image_of(const SampleSpec& spec, const Column& column, const std::byte* row);

// What the model made, alone. outputs: an image (H, W, C), or logits (H, W, classes), whose largest
// is the class: a gray image with the number of each pixel's class.
PngImage result_image(const SampleSpec& spec, Task task, std::span<const float> outputs);

// Images of one height, width and number of channels, to stand side by side: the input, what the
// model made, and the target, if it is given and is not the input itself. input, target: rows of
// their columns. Classes have the colors of PASCAL VOC; pixels without a class are white.
std::vector<PngImage> sample_images(const SampleSpec& spec, Task task, const std::byte* input,
                                    std::span<const float> outputs,
                                    const std::byte* target = nullptr);

}  // namespace spire
