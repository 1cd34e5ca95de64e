// Images that show a sample and the model's output, for models whose output is an image or a class
// for each pixel.
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

// Returns a row of a column of images as an image.
PngImage image_of(const SampleSpec& spec, const Column& column, const std::byte* row);

// Returns the model's output alone. outputs: an image (H, W, C), or logits (H, W, classes), which
// become a gray image: each pixel is the number of the class with the largest logit.
PngImage result_image(const SampleSpec& spec, Task task, std::span<const float> outputs);

// Returns images of one height, width and number of channels, to be shown side by side: the input,
// the model's output, and the target, if it is given and is not the input itself. input, target:
// rows of their columns. Classes have the colors of PASCAL VOC; pixels without a class are white.
std::vector<PngImage> sample_images(const SampleSpec& spec, Task task, const std::byte* input,
                                    std::span<const float> outputs,
                                    const std::byte* target = nullptr);

}  // namespace spire
