// TIFF files of several kinds, in both byte orders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/images/tiff_files.h"

namespace spire {
namespace {

using testing::HasSubstr;

TEST(Tiff, ColorsAreDecodedExactly) {
  RgbImage image = smooth_image(13, 29);
  for (const TiffKind& kind :
       {TiffKind{}, TiffKind{.mode = "wb"}, TiffKind{.compression = COMPRESSION_LZW},
        TiffKind{.compression = COMPRESSION_PACKBITS}}) {
    Bytes file = tiff_bytes(image.pixels, image.size, kind);
    EXPECT_EQ(image_size(file), (ImageSize{13, 29}));
    RgbImage decoded;
    decode_image(file, 1, decoded);
    EXPECT_EQ(decoded.pixels, image.pixels) << kind.mode << " " << kind.compression;
  }
}

TEST(Tiff, GrayAndTransparentPixelsBecomeColors) {
  RgbImage decoded;
  decode_image(tiff_bytes({1, 2, 3, 4, 5, 6}, {2, 3}, {.samples = 1}), 1, decoded);
  EXPECT_EQ(decoded.pixels, (Bytes{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6}));
  decode_image(tiff_bytes({200, 100, 50, 255, 9, 9, 9, 0}, {1, 2}, {.samples = 4}), 1, decoded);
  EXPECT_EQ(decoded.pixels, (Bytes{200, 100, 50, 0, 0, 0}));
  decode_image(tiff_bytes({200, 100, 50, 128}, {1, 1}, {.samples = 4}), 1, decoded);
  EXPECT_EQ(decoded.pixels, (Bytes{100, 50, 25}));
}

// The places of the pixels 1 to 6 of two stored rows.
TEST(Tiff, ImagesAreTurnedUpright) {
  const std::vector<Bytes> upright = {{1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4}, {6, 5, 4, 3, 2, 1},
                                      {4, 5, 6, 1, 2, 3}, {1, 4, 2, 5, 3, 6}, {4, 1, 5, 2, 6, 3},
                                      {6, 3, 5, 2, 4, 1}, {3, 6, 2, 5, 1, 4}};
  for (uint16_t orientation = 1; orientation <= 8; ++orientation) {
    Bytes file = tiff_bytes({1, 2, 3, 4, 5, 6}, {2, 3}, {.samples = 1, .orientation = orientation});
    RgbImage decoded;
    decode_image(file, 1, decoded);
    EXPECT_EQ(decoded.size, image_size(file));
    EXPECT_EQ(decoded.size, orientation < 5 ? (ImageSize{2, 3}) : (ImageSize{3, 2}));
    for (size_t i = 0; i < 6; ++i)
      EXPECT_EQ(decoded.pixels[3 * i], upright[orientation - 1u][i]) << orientation;
  }
}

TEST(Tiff, DamagedFilesAreRefused) {
  RgbImage source = smooth_image(24, 24);
  Bytes file = tiff_bytes(source.pixels, source.size, {.compression = COMPRESSION_LZW});
  for (size_t size = 4; size < file.size(); size += 31)
    EXPECT_THAT(image_refusal({file.data(), size}), HasSubstr("TIFF: ")) << size;
}

}  // namespace
}  // namespace spire
