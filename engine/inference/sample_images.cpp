#include "engine/inference/sample_images.h"

#include <algorithm>
#include <array>

#include <spire/error.h>

namespace spire {
namespace {

constexpr uint8_t white = 255;

// Returns the color of a class in PASCAL VOC: bits 0, 3 and 6 of its number are the upper bits of
// red, 1, 4 and 7 those of green, and 2 and 5 those of blue.
std::array<uint8_t, 3> color_of(int32_t label) {
  if (label < 0) return {white, white, white};
  std::array<uint8_t, 3> color{};
  for (int bit = 0; bit < 8; ++bit)
    color[static_cast<size_t>(bit % 3)] |=
        static_cast<uint8_t>((label >> bit & 1) << (7 - bit / 3));
  return color;
}

PngImage colored(std::span<const int32_t> classes, const Shape& shape) {
  PngImage image{shape[0], shape[1], 3, {}};
  for (int32_t label : classes)
    for (uint8_t part : color_of(label)) image.pixels.push_back(part);
  return image;
}

// Returns the first class of the largest logit of each pixel.
std::vector<int32_t> classes_of(std::span<const float> logits, int64_t classes) {
  auto width = static_cast<size_t>(classes);
  std::vector<int32_t> labels;
  for (; !logits.empty(); logits = logits.subspan(width))
    labels.push_back(
        static_cast<int32_t>(std::ranges::max_element(logits.first(width)) - logits.begin()));
  return labels;
}

// Gray becomes red, green and blue.
PngImage in_colors(PngImage image) {
  if (image.channels == 3) return image;
  PngImage colors{image.height, image.width, 3, {}};
  for (uint8_t value : image.pixels) colors.pixels.insert(colors.pixels.end(), 3, value);
  return colors;
}

// Targets of other channels than the images are from 0 to 1.
Normalization normalization_of(const SampleSpec& spec, int64_t channels) {
  bool same = std::ssize(spec.normalization.mean) == channels;
  return same ? spec.normalization : Normalization{};
}

}  // namespace

PngImage image_of(const SampleSpec& spec, const Column& column, const std::byte* row) {
  std::vector<float> values(static_cast<size_t>(column.shape.elements()));
  copy_floats(row, column.dtype, values);
  return to_png_image(values, column.shape, normalization_of(spec, column.shape.back()));
}

bool has_sample_images(Task task) {
  return task == Task::reconstruct || task == Task::segment;
}

const Column& target_column(const SampleSpec& spec) {
  for (const char* name : {"target_images", "masks"})
    if (const Column* target = spec.find(name)) return *target;
  return spec.columns.front();
}

PngImage result_image(const SampleSpec& spec, Task task, std::span<const float> outputs) {
  const Shape& shape = target_column(spec).shape;
  if (task == Task::reconstruct)
    return to_png_image(outputs, shape, normalization_of(spec, shape.back()));
  PngImage image{shape[0], shape[1], 1, {}};
  for (int32_t label : classes_of(outputs, spec.classes))
    image.pixels.push_back(static_cast<uint8_t>(label));
  return image;
}

std::vector<PngImage> sample_images(const SampleSpec& spec, Task task, const std::byte* input,
                                    std::span<const float> outputs, const std::byte* target) {
  const Column& goal = target_column(spec);
  bool masks = task == Task::segment;
  std::vector<PngImage> images = {image_of(spec, spec.columns[0], input)};
  images.push_back(masks ? colored(classes_of(outputs, spec.classes), goal.shape)
                         : result_image(spec, task, outputs));
  if (target != nullptr && &goal != &spec.columns.front())
    images.push_back(masks ? colored({reinterpret_cast<const int32_t*>(target),
                                      static_cast<size_t>(goal.shape.elements())},
                                     goal.shape)
                           : image_of(spec, goal, target));
  bool gray = std::ranges::all_of(images, [](const auto& each) { return each.channels == 1; });
  if (!gray) std::ranges::transform(images, images.begin(), in_colors);
  return images;
}

}  // namespace spire
