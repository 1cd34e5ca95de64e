#include <png.h>
#include <spire/base/atomic_file.h>
#include <spire/base/error.h>
#include <spire/data/picture.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace spire {
namespace {

constexpr uint8_t white = 255;
constexpr int64_t gap = 1;  // pixels between pictures of a grid

std::string encode(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(bytes, '\0');
  int done =
      png_image_write_to_memory(&image, file.data(), &bytes, 0, picture.pixels.data(), 0, nullptr);
  if (done == 0) fail(Category::unexpected, "libpng: {}", image.message);
  file.resize(bytes);
  return file;
}

}  // namespace

Picture picture_of(std::span<const float> image, const Shape& shape,
                   const Normalization& normalization) {
  require(shape.rank() == 3 && static_cast<int64_t>(image.size()) == shape.elements(),
          "picture_of: {} numbers are not an image {}", image.size(), to_string(shape));
  Picture picture{shape[0], shape[1], shape[2] == 3 ? 3 : 1, {}};
  for (int64_t pixel = 0; pixel < shape[0] * shape[1]; ++pixel) {
    for (int64_t c = 0; c < picture.channels; ++c) {
      auto channel = static_cast<size_t>(c);
      double value = double{image[static_cast<size_t>(pixel * shape[2] + c)]};
      if (!normalization.mean.empty())
        value = value * normalization.stddev[channel] + normalization.mean[channel];
      value = std::isnan(value) ? 0 : std::clamp(value, 0.0, 1.0);
      picture.pixels.push_back(static_cast<uint8_t>(std::lround(255 * value)));
    }
  }
  return picture;
}

Picture grid_of(const std::vector<Picture>& pictures, int64_t columns) {
  require(!pictures.empty() && columns >= 1, "a grid of no pictures");
  const Picture& first = pictures.front();
  auto rows = (std::ssize(pictures) + columns - 1) / columns;
  columns = std::min<int64_t>(columns, std::ssize(pictures));
  Picture grid{
      rows * (first.height + gap) - gap, columns * (first.width + gap) - gap, first.channels, {}};
  grid.pixels.assign(static_cast<size_t>(grid.height * grid.width * grid.channels), white);
  for (int64_t i = 0; i < std::ssize(pictures); ++i) {
    const Picture& picture = pictures[static_cast<size_t>(i)];
    require(picture.height == first.height && picture.width == first.width &&
                picture.channels == first.channels,
            "a grid of pictures of several sizes");
    int64_t top = i / columns * (first.height + gap), left = i % columns * (first.width + gap);
    for (int64_t y = 0; y < picture.height; ++y)
      std::copy_n(picture.pixels.begin() + y * picture.width * picture.channels,
                  picture.width * picture.channels,
                  grid.pixels.begin() + ((top + y) * grid.width + left) * grid.channels);
  }
  return grid;
}

void write_png(const std::filesystem::path& path, const Picture& picture, Existing existing) {
  write_file_atomically(path, encode(picture), Category::data, existing);
}

}  // namespace spire
