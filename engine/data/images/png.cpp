#include "engine/data/images/png.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <png.h>

#include <spire/error.h>

#include "engine/base/write_file.h"

namespace spire {
namespace {

constexpr uint8_t white = 255;
constexpr int64_t gap = 1;  // pixels between images of a grid

}  // namespace

std::string png_bytes(const PngImage& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string file(bytes, '\0');
  int done =
      png_image_write_to_memory(&header, file.data(), &bytes, 0, image.pixels.data(), 0, nullptr);
  if (done == 0) fail(Category::unexpected, "libpng: {}", header.message);
  file.resize(bytes);
  return file;
}

PngImage to_png_image(std::span<const float> values, const Shape& shape,
                      const Normalization& normalization) {
  require(shape.rank() == 3 && static_cast<int64_t>(values.size()) == shape.elements(),
          "to_png_image: {} numbers are not an image {}", values.size(), to_string(shape));
  PngImage image{shape[0], shape[1], shape[2] == 3 ? 3 : 1, {}};
  for (int64_t pixel = 0; pixel < shape[0] * shape[1]; ++pixel) {
    for (int64_t c = 0; c < image.channels; ++c) {
      auto channel = static_cast<size_t>(c);
      double value = double{values[static_cast<size_t>(pixel * shape[2] + c)]};
      if (!normalization.mean.empty())
        value = value * normalization.stddev[channel] + normalization.mean[channel];
      value = std::isnan(value) ? 0 : std::clamp(value, 0.0, 1.0);
      image.pixels.push_back(static_cast<uint8_t>(std::lround(255 * value)));
    }
  }
  return image;
}

PngImage grid_of(const std::vector<PngImage>& images, int64_t columns) {
  require(!images.empty() && columns >= 1, "a grid of no images");
  const PngImage& first = images.front();
  auto rows = (std::ssize(images) + columns - 1) / columns;
  columns = std::min<int64_t>(columns, std::ssize(images));
  PngImage grid{
      rows * (first.height + gap) - gap, columns * (first.width + gap) - gap, first.channels, {}};
  grid.pixels.assign(static_cast<size_t>(grid.height * grid.width * grid.channels), white);
  for (int64_t i = 0; i < std::ssize(images); ++i) {
    const PngImage& image = images[static_cast<size_t>(i)];
    require(image.height == first.height && image.width == first.width &&
                image.channels == first.channels,
            "a grid of images of several sizes");
    int64_t top = i / columns * (first.height + gap), left = i % columns * (first.width + gap);
    for (int64_t y = 0; y < image.height; ++y)
      std::copy_n(image.pixels.begin() + y * image.width * image.channels,
                  image.width * image.channels,
                  grid.pixels.begin() + ((top + y) * grid.width + left) * grid.channels);
  }
  return grid;
}

void write_png(const std::filesystem::path& path, const PngImage& image, Existing existing) {
  write_file_atomically(path, png_bytes(image), Category::data, existing);
}

}  // namespace spire
