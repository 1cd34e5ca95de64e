#include <algorithm>

#include <png.h>

#include <spire/error.h>

#include "engine/data/images/image_decode.h"

namespace spire::inline data {
namespace {

constexpr int64_t pixels_a_byte = 1032 * 8;  // deflate's limit, one bit a pixel

// libpng's simplified interface: errors are a text, never a jump.
class Png {
 public:
  explicit Png(std::span<const uint8_t> file) {
    image_.version = PNG_IMAGE_VERSION;
    if (png_image_begin_read_from_memory(&image_, file.data(), file.size()) == 0)
      fail(Category::data, "PNG: {}; get an intact copy", image_.message);
    try {
      check_image_size({image_.height, image_.width}, file.size(), pixels_a_byte);
    } catch (...) {
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
    std::ranges::fill(image.pixels, uint8_t{0});  // what transparent pixels lie on
    if (png_image_finish_read(&image_, nullptr, image.pixels.data(), 0, nullptr) == 0)
      fail(Category::data, "PNG: {}; get an intact copy", image_.message);
  }

 private:
  png_image image_{};
};

}  // namespace

ImageSize png_size(std::span<const uint8_t> file) {
  return Png(file).size();
}

void decode_png(std::span<const uint8_t> file, RgbImage& image) {
  Png(file).decode(image);
}

}  // namespace spire::inline data
