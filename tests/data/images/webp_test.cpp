// WebP files: lossless ones exactly, lossy ones nearly, transparent ones on black.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/images/webp_files.h"

namespace spire {
namespace {

using testing::HasSubstr;

TEST(WebP, LosslessFilesAreDecodedExactly) {
  RgbImage image = smooth_image(13, 29), decoded;
  Bytes file = webp_bytes(image);
  EXPECT_EQ(image_size(file), (ImageSize{13, 29}));
  decode_image(file, 1, decoded);
  EXPECT_EQ(decoded.size, image.size);
  EXPECT_EQ(decoded.pixels, image.pixels);
}

TEST(WebP, LossyFilesAreNearlyThePixels) {
  RgbImage image = smooth_image(40, 56), decoded;
  uint8_t* data = nullptr;
  size_t bytes = WebPEncodeRGB(image.pixels.data(), 56, 40, 3 * 56, 95, &data);
  decode_image(taken_webp(data, bytes), 1, decoded);
  ASSERT_EQ(decoded.pixels.size(), image.pixels.size());
  for (size_t i = 0; i < image.pixels.size(); ++i)
    ASSERT_NEAR(decoded.pixels[i], image.pixels[i], 12);
}

TEST(WebP, TransparentPixelsLieOnBlack) {
  const Bytes rgba = {200, 100, 50, 255, 200, 100, 50, 128, 9, 9, 9, 0, 1, 2, 3, 255};
  uint8_t* data = nullptr;
  size_t bytes = WebPEncodeLosslessRGBA(rgba.data(), 2, 2, 8, &data);
  Bytes file = taken_webp(data, bytes);
  RgbImage decoded;
  decode_image(file, 1, decoded);
  EXPECT_EQ(decoded.pixels, (Bytes{200, 100, 50, 100, 50, 25, 0, 0, 0, 1, 2, 3}));
}

TEST(WebP, ImagesAreTurnedUpright) {
  RgbImage image = smooth_image(2, 3), decoded;
  Bytes exif = exif_bytes(6, false);
  const Bytes mark = {'E', 'x', 'i', 'f', 0, 0};
  Bytes marked = mark;
  marked.insert(marked.end(), exif.begin(), exif.end());
  for (const Bytes& block : {exif, marked}) {
    Bytes file = webp_with_exif(image, block);
    EXPECT_EQ(image_size(file), (ImageSize{3, 2}));
    decode_image(file, 1, decoded);
    ASSERT_EQ(decoded.size, (ImageSize{3, 2}));
    for (size_t y = 0; y < 3; ++y)
      for (size_t x = 0; x < 2; ++x)
        for (size_t c = 0; c < 3; ++c)
          EXPECT_EQ(decoded.pixels[(y * 2 + x) * 3 + c], image.pixels[((1 - x) * 3 + y) * 3 + c]);
  }
}

TEST(WebP, DamagedFilesAreRefused) {
  Bytes file = webp_bytes(smooth_image(24, 24));
  for (size_t size = 12; size < file.size(); size += 7)
    EXPECT_THAT(image_refusal({file.data(), size}), HasSubstr("WebP: ")) << size;
}

}  // namespace
}  // namespace spire
