// Images are read as viewers show them: turned upright, whatever the format.
#include "engine/data/images/codecs/exif.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/images/image_files.h"

namespace spire {
namespace {

using testing::HasSubstr;

// The letter F, whose eight positions all differ, stored as `orientation` says.
constexpr std::array<std::array<std::string_view, 5>, 8> stored_letters = {{
    {"xxx", "x..", "xx.", "x..", "x.."},  // 1: upright
    {"xxx", "..x", ".xx", "..x", "..x"},  // 2: right and left exchanged
    {"..x", "..x", ".xx", "..x", "xxx"},  // 3: turned by 180 degrees
    {"x..", "x..", "xx.", "x..", "xxx"},  // 4: top and bottom exchanged
    {"xxxxx", "x.x..", "x...."},          // 5: rows and columns exchanged
    {"x....", "x.x..", "xxxxx"},          // 6: to be turned to the right
    {"....x", "..x.x", "xxxxx"},          // 7
    {"xxxxx", "..x.x", "....x"},          // 8: to be turned to the left
}};

RgbImage letter(int orientation) {
  RgbImage image;
  for (std::string_view row : stored_letters[static_cast<size_t>(orientation - 1)]) {
    if (row.empty()) continue;
    ++image.size.height;
    image.size.width = std::ssize(row);
    for (char pixel : row) image.pixels.insert(image.pixels.end(), 3, pixel == 'x' ? 250 : 10);
  }
  return image;
}

RgbImage shown(const Bytes& file) {
  RgbImage image;
  decode_image(file, 1, image);
  EXPECT_EQ(image.size, image_size(file));
  return image;
}

TEST(Exif, EveryOrientationIsTurnedUpright) {
  RgbImage upright = letter(1);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    RgbImage image = letter(orientation);
    turn_upright(orientation, 3, image.size, image.pixels);
    EXPECT_EQ(image.size, upright.size) << orientation;
    EXPECT_EQ(image.pixels, upright.pixels) << orientation;
    for (bool big : {false, true}) {
      Bytes png = with_chunk(png_bytes(letter(orientation)), "eXIf", exif_bytes(orientation, big));
      EXPECT_EQ(shown(png).pixels, upright.pixels) << orientation;
    }
    EXPECT_EQ(exif_orientation(jpeg_bytes(letter(orientation), {.orientation = orientation})),
              orientation);
  }
}

TEST(Exif, JpegsLieOnTheirSides) {
  RgbImage image = smooth_image(24, 40);
  RgbImage turned = shown(jpeg_bytes(image, {.orientation = 6}));
  RgbImage plain = shown(jpeg_bytes(image));
  ASSERT_EQ(turned.size, (ImageSize{40, 24}));
  for (int64_t y = 0; y < 40; ++y)
    for (int64_t x = 0; x < 24; ++x)
      for (int64_t c = 0; c < 3; ++c)
        ASSERT_EQ(turned.pixels[static_cast<size_t>((y * 24 + x) * 3 + c)],
                  plain.pixels[static_cast<size_t>(((23 - x) * 40 + y) * 3 + c)]);
  RgbImage reduced;
  decode_image(jpeg_bytes(image, {.orientation = 6}), 2, reduced);
  EXPECT_EQ(reduced.size, (ImageSize{20, 12}));
}

TEST(Exif, MasksAreTurnedToo) {
  const Bytes numbers = {1, 2, 3, 4, 5, 6};
  Bytes png = with_chunk(png_bytes(numbers.data(), {2, 3}, PNG_FORMAT_GRAY), "eXIf", exif_bytes(8));
  LabelImage mask;
  decode_labels(png, mask);
  EXPECT_EQ(mask.size, (ImageSize{3, 2}));
  EXPECT_EQ(mask.labels, (Bytes{3, 6, 2, 5, 1, 4}));
}

// A block that is cut off anywhere, or says nonsense, says nothing.
TEST(Exif, DamagedBlocksSayNothing) {
  Bytes png = png_bytes(smooth_image(4, 4)), exif = exif_bytes(6);
  for (size_t bytes = 0; bytes < 20; ++bytes)
    EXPECT_EQ(exif_orientation(with_chunk(png, "eXIf", {exif.begin(), exif.begin() + bytes})), 1);
  for (int wrong : {0, 9, 255})
    EXPECT_EQ(exif_orientation(with_chunk(png, "eXIf", exif_bytes(wrong))), 1);
  exif[7] = 0xff;  // the directory lies behind the end
  EXPECT_EQ(exif_orientation(with_chunk(png, "eXIf", exif)), 1);
  Bytes jpeg = jpeg_bytes(smooth_image(8, 8), {.orientation = 3});
  for (size_t bytes = 3; bytes < 60; ++bytes) exif_orientation({jpeg.data(), bytes});
}

}  // namespace
}  // namespace spire
