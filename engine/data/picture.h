// Images for people: what a model made, written as PNG.
#pragma once
#include <spire/base/atomic_file.h>
#include <spire/data/sample.h>

#include <filesystem>
#include <span>
#include <vector>

namespace spire {

struct Picture {
  int64_t height = 0, width = 0, channels = 0;  // channels: 1 (grey) or 3 (red, green, blue)
  std::vector<uint8_t> pixels;                  // (H, W, C)
};

// Undoes the normalisation of an image (H, W, C); values beyond black and white are cut. Images of
// other than 1 or 3 channels show their first as grey.
Picture picture_of(std::span<const float> image, const Shape& shape,
                   const Normalization& normalization);

// Pictures of one size side by side, `columns` a row, with a white line between them.
Picture grid_of(const std::vector<Picture>& pictures, int64_t columns);

// Throws Error(data) naming the file when it cannot be written; a file that is there is replaced
// as a whole, where `existing` says so.
void write_png(const std::filesystem::path& path, const Picture& picture,
               Existing existing = Existing::replace);

}  // namespace spire
