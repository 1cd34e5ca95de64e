#include "engine/data/images/png.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <png.h>

#include <spire/error.h>

#include "engine/base/write_file.h"
#include "engine/data/images/image_decode.h"

namespace spire::inline data {
namespace {

constexpr int64_t png_pixels_per_byte =
    1032 * 8;  // deflate expands up to 1032 times; 1 bit a pixel

// One file under decoding, by libpng's simplified interface: it returns errors as text and never
// jumps.
class Png {
 public:
  explicit Png(std::span<const uint8_t> file) {
    image_.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_memory(&image_, file.data(), file.size()) == 0)
      fail(Category::data, "PNG: {}; get an intact copy", image_.message);
    try {
      check_image_size({image_.height, image_.width}, file.size(), png_pixels_per_byte);
    } catch (...) {  // no destructor runs for a constructor that throws
      png_image_free(&image_);
      throw;
    }
  }
  ~Png() { png_image_free(&image_); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;

  ImageSize size() const { return {image_.height, image_.width}; }

  void decode(RgbImage& image) {
    image_.format = PNG_FORMAT_RGB;
    image.size = size();
    image.pixels.resize(static_cast<size_t>(3 * image.size.height * image.size.width));
    std::ranges::fill(image.pixels, uint8_t{0});  // the background of transparent pixels
    if (png_image_finish_read(&image_, nullptr, image.pixels.data(), 0, nullptr) == 0)
      fail(Category::data, "PNG: {}; get an intact copy", image_.message);
  }

  // libpng keeps the numbers of palette and gray pixels where a palette is asked for.
  void decode_labels(LabelImage& image) {
    bool palette = (image_.format & PNG_FORMAT_FLAG_COLORMAP) != 0;
    uint32_t others = PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_LINEAR | PNG_FORMAT_FLAG_ALPHA;
    if (!palette && (image_.format & others) != 0)
      fail(Category::data,
           "PNG: a mask has gray or palette pixels of at most 8 bits, whose numbers are classes; "
           "this one has colors, 16 bits or transparent pixels");
    image_.format = PNG_FORMAT_RGB_COLORMAP;
    image.size = size();
    image.labels.resize(static_cast<size_t>(image.size.height * image.size.width));
    std::array<uint8_t, 3 * 256> colors{};
    png_color black{};
    if (png_image_finish_read(&image_, &black, image.labels.data(), 0, colors.data()) == 0)
      fail(Category::data, "PNG: {}; get an intact copy", image_.message);
  }

 private:
  png_image image_{};
};

constexpr uint8_t white = 255;
constexpr int64_t gap = 1;  // pixels between images of a grid

// Returns the bytes of a PNG file.
std::string encode(const PngImage& image) {
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

}  // namespace

ImageSize png_size(std::span<const uint8_t> file) {
  return Png(file).size();
}

void decode_png(std::span<const uint8_t> file, RgbImage& image) {
  Png(file).decode(image);
}

void decode_png_labels(std::span<const uint8_t> file, LabelImage& image) {
  Png(file).decode_labels(image);
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
  write_file_atomically(path, encode(image), Category::data, existing);
}

}  // namespace spire::inline data
