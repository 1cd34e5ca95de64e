#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/images/bmp_files.h"

namespace spire {
namespace {

using testing::HasSubstr;

Bytes pixels_of(const Bytes& file) {
  RgbImage image;
  decode_image(file, 1, image);
  EXPECT_EQ(image.size, image_size(file));
  return image.pixels;
}

// Rows are stored from the lowest on, blue first, and padded to 4 bytes.
TEST(Bmp, ColorsOf24Bits) {
  Bytes rows = {3, 2, 1, 6, 5, 4, 0, 0, 9, 8, 7, 12, 11, 10, 0, 0};
  EXPECT_EQ(pixels_of(bmp_bytes({2, 2}, rows)), (Bytes{7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(pixels_of(bmp_bytes({2, 2}, rows, {.from_top = true})),
            (Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST(Bmp, ColorsOf32Bits) {
  Bytes rows = {3, 2, 1, 255, 6, 5, 4, 255};
  EXPECT_EQ(pixels_of(bmp_bytes({1, 2}, rows, {.bits = 32})), (Bytes{1, 2, 3, 4, 5, 6}));
  BmpKind masked = {.bits = 32, .compression = 3, .masks = {0xff, 0xff00, 0xff0000}};
  EXPECT_EQ(pixels_of(bmp_bytes({1, 2}, rows, masked)), (Bytes{3, 2, 1, 6, 5, 4}));
}

TEST(Bmp, Palettes) {
  std::vector<uint32_t> palette = {0x000000, 0x010203, 0xa0b0c0, 0xffffff};
  Bytes expected = {1, 2, 3, 0xa0, 0xb0, 0xc0, 255, 255, 255};
  EXPECT_EQ(pixels_of(bmp_bytes({1, 3}, {1, 2, 3, 0}, {.bits = 8, .palette = palette})), expected);
  EXPECT_EQ(pixels_of(bmp_bytes({1, 3}, {0x12, 0x30, 0, 0}, {.bits = 4, .palette = palette})),
            expected);
  palette.resize(2);
  EXPECT_EQ(pixels_of(bmp_bytes({1, 3}, {0b01000000, 0, 0, 0}, {.bits = 1, .palette = palette})),
            (Bytes{0, 0, 0, 1, 2, 3, 0, 0, 0}));
}

// Four masks: the last one is of alpha. Where all of it is 0, nothing is meant to be clear.
TEST(Bmp, TransparentPixelsLieOnBlack) {
  BmpKind clear = {.bits = 32, .compression = 6, .masks = {0xff0000, 0xff00, 0xff, 0xff000000}};
  EXPECT_EQ(pixels_of(bmp_bytes({1, 2}, {50, 100, 200, 128, 3, 2, 1, 255}, clear)),
            (Bytes{100, 50, 25, 1, 2, 3}));
  EXPECT_EQ(pixels_of(bmp_bytes({1, 2}, {50, 100, 200, 0, 3, 2, 1, 0}, clear)),
            (Bytes{200, 100, 50, 1, 2, 3}));
}

std::string bmp_refusal(const Bytes& file) {
  return message_of(Category::data, [&] { pixels_of(file); });
}

TEST(Bmp, WhatIsNotSupportedIsRefused) {
  Bytes rows(64);
  EXPECT_THAT(bmp_refusal(bmp_bytes({2, 2}, rows, {.bits = 16})),
              HasSubstr("BMP: only 1, 4, 8, 24 or 32 bits"));
  EXPECT_THAT(bmp_refusal(bmp_bytes({2, 2}, rows, {.bits = 8, .compression = 1})),
              HasSubstr("compression is not supported"));
  BmpKind odd = {.bits = 32, .compression = 3, .masks = {0x1f, 0xff00, 0xff0000}};
  EXPECT_THAT(bmp_refusal(bmp_bytes({2, 2}, rows, odd)), HasSubstr("no whole bytes"));
  BmpKind crowded = {.bits = 8, .palette = std::vector<uint32_t>(257)};
  EXPECT_THAT(bmp_refusal(bmp_bytes({2, 2}, rows, crowded)), HasSubstr("more than 256 colors"));
}

TEST(Bmp, CutOffFilesAreRefused) {
  Bytes file = bmp_bytes({4, 4}, Bytes(48));
  RgbImage image;
  for (size_t size = 2; size < file.size(); ++size)
    EXPECT_THAT(message_of(Category::data,
                           [&] {
                             decode_image({file.data(), size}, 1, image);
                           }),
                HasSubstr("cut off"))
        << size;
}

TEST(Bmp, ImpossibleSizesAreRefused) {
  EXPECT_THAT(bmp_refusal(bmp_bytes({20000, 8}, {})), HasSubstr("at most 16384 a side"));
  EXPECT_THAT(bmp_refusal(bmp_bytes({9000, 9000}, {})), HasSubstr("the file is damaged"));
  EXPECT_THAT(bmp_refusal(bmp_bytes({INT32_MIN, 4}, {})), HasSubstr("an impossible height"));
}

}  // namespace
}  // namespace spire
