// Decodes WebP files by libwebp, whose pixels are the same on every machine.
#include <webp/decode.h>

#include "engine/base/fail.h"
#include "engine/data/images/image_formats.h"

namespace spire {
namespace {

// Lossless files of one color take some bytes whatever their size.
constexpr int64_t webp_pixels_per_byte = 1 << 23;

WebPBitstreamFeatures features_of(std::span<const uint8_t> file) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(file.data(), file.size(), &features) != VP8_STATUS_OK)
    fail(Category::data, "WebP: the header is damaged; get an intact copy");
  if (features.has_animation != 0)
    fail(Category::data, "WebP: it is an animation; convert one of its images");
  check_image_size({features.height, features.width}, file.size(), webp_pixels_per_byte);
  return features;
}

}  // namespace

ImageSize webp_size(std::span<const uint8_t> file) {
  WebPBitstreamFeatures features = features_of(file);
  return {features.height, features.width};
}

void decode_webp(std::span<const uint8_t> file, RgbImage& image) {
  WebPBitstreamFeatures features = features_of(file);
  image.size = {features.height, features.width};
  bool alpha = features.has_alpha != 0;
  int row_bytes = features.width * (alpha ? 4 : 3);
  image.pixels.resize(static_cast<size_t>(row_bytes) * static_cast<size_t>(features.height));
  auto* decode = alpha ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (decode(file.data(), file.size(), image.pixels.data(), image.pixels.size(), row_bytes) ==
      nullptr)
    fail(Category::data, "WebP: the file is damaged or cut off; get an intact copy");
  if (alpha) rgb_from_rgba(false, image);
}

}  // namespace spire
