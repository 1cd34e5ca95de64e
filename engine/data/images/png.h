// Writes images as PNG files for people to look at. (image_formats.h reads PNG files.)
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/base/write_file.h"
#include "engine/data/sample.h"

namespace spire {

struct PngImage {
  int64_t height = 0, width = 0, channels = 0;  // channels: 1 (gray) or 3 (red, green, blue)
  std::vector<uint8_t> pixels;                  // (H, W, C)
};

// Undoes the normalization of (H, W, C) values; unless C is 1 or 3, shows channel 0 as gray.
PngImage to_png_image(std::span<const float> values, const Shape& shape,
                      const Normalization& normalization);

// Arranges images of one size in a grid with `columns` images per row and white lines between them.
PngImage grid_of(const std::vector<PngImage>& images, int64_t columns);

std::string png_bytes(const PngImage& image);  // of a PNG file

// Writes the file atomically. Throws Error(data), naming the file, if it cannot be written;
// Error(config) if Existing::keep keeps the file that is there.
void write_png(const std::filesystem::path& path, const PngImage& image,
               Existing existing = Existing::replace);

}  // namespace spire
