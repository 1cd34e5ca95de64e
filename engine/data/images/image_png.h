// Images for people: what a model made, written as PNG.
#pragma once
#include <filesystem>
#include <span>
#include <vector>

#include "engine/base/write_file.h"
#include "engine/data/sample.h"

namespace spire::inline data {

struct PngImage {
  int64_t height = 0, width = 0, channels = 0;  // channels: 1 (grey) or 3 (red, green, blue)
  std::vector<uint8_t> pixels;                  // (H, W, C)
};

// Undoes the normalization of an image's values (H, W, C); those beyond black and white are cut.
// Images of other than 1 or 3 channels show their first as grey.
PngImage to_png_image(std::span<const float> values, const Shape& shape,
                      const Normalization& normalization);

// Images of one size side by side, `columns` a row, with a white line between them.
PngImage grid_of(const std::vector<PngImage>& images, int64_t columns);

// Throws Error(data) naming the file when it cannot be written; a file that is there is replaced
// as a whole, where `existing` says so.
void write_png(const std::filesystem::path& path, const PngImage& image,
               Existing existing = Existing::replace);

}  // namespace spire::inline data
