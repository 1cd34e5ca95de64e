#include "engine/data/images/image_formats.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/images/png.h"
#include "tests/data/images/bmp_files.h"
#include "tests/data/images/image_files.h"

namespace spire {
namespace {

using testing::HasSubstr;

RgbImage decoded(const Bytes& file, int reduce = 1) {
  RgbImage image;
  decode_image(file, reduce, image);
  EXPECT_EQ(image.pixels.size(), static_cast<size_t>(3 * image.size.height * image.size.width));
  return image;
}

double worst_difference(const RgbImage& a, const RgbImage& b) {
  EXPECT_EQ(a.size, b.size);
  int worst = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i)
    worst = std::max(worst, std::abs(a.pixels[i] - b.pixels[i]));
  return worst;
}

TEST(Png, GivesThePixelsThatWereWritten) {
  RgbImage image = smooth_image(13, 29);
  Bytes file = png_bytes(image);
  EXPECT_EQ(image_size(file), (ImageSize{13, 29}));
  EXPECT_EQ(decoded(file).pixels, image.pixels);
  EXPECT_EQ(decoded(file, 8).pixels, image.pixels);  // there is no reduction
}

TEST(Png, EveryKindBecomesRgb) {
  Bytes gray = {0, 128, 255, 7};
  EXPECT_EQ(decoded(png_bytes(gray.data(), {2, 2}, PNG_FORMAT_GRAY)).pixels,
            (Bytes{0, 0, 0, 128, 128, 128, 255, 255, 255, 7, 7, 7}));
  Bytes clear = {10, 20, 30, 255, 90, 90, 90, 0};  // opaque, transparent
  EXPECT_EQ(decoded(png_bytes(clear.data(), {1, 2}, PNG_FORMAT_RGBA)).pixels,
            (Bytes{10, 20, 30, 0, 0, 0}));
  std::vector<uint16_t> deep = {0, 65535, 65535, 0, 0, 65535};
  EXPECT_EQ(decoded(png_bytes(deep.data(), {1, 2}, PNG_FORMAT_LINEAR_RGB)).pixels,
            (Bytes{0, 255, 255, 0, 0, 255}));
}

// 16 bits are value / 257, rounded, whatever the file says of gamma.
TEST(Png, ValuesAreThoseThatAreStored) {
  Bytes deep = stored_png({1, 2}, 16, PNG_COLOR_TYPE_GRAY, {0, 100, 100, 0x0c, 0x86});
  EXPECT_EQ(decoded(deep).pixels, (Bytes{100, 100, 100, 12, 12, 12}));
  Bytes colors = stored_png({1, 1}, 16, PNG_COLOR_TYPE_RGB, {0, 200, 200, 100, 100, 50, 50});
  Bytes plain = stored_png({1, 1}, 8, PNG_COLOR_TYPE_RGB, {0, 200, 100, 50});
  for (const Bytes& gamma : {Bytes{0, 0, 0xb1, 0x8f}, Bytes{0, 1, 0x86, 0xa0}})  // 0.45455, 1
    for (const Bytes& file : {colors, plain}) {
      EXPECT_EQ(decoded(file).pixels, (Bytes{200, 100, 50}));
      EXPECT_EQ(decoded(with_chunk(file, "gAMA", gamma)).pixels, (Bytes{200, 100, 50}));
    }
}

// On black: value * alpha / 255, as in the other formats.
TEST(Png, TransparentPixelsAreBlended) {
  const Bytes half = {200, 100, 50, 128};
  EXPECT_EQ(decoded(png_bytes(half.data(), {1, 1}, PNG_FORMAT_RGBA)).pixels, (Bytes{100, 50, 25}));
  EXPECT_EQ(decoded(stored_png({1, 1}, 16, PNG_COLOR_TYPE_RGB_ALPHA,
                               {0, 200, 200, 100, 100, 50, 50, 128, 128}))
                .pixels,
            (Bytes{100, 50, 25}));
  EXPECT_EQ(decoded(stored_png({1, 1}, 8, PNG_COLOR_TYPE_GRAY_ALPHA, {0, 200, 128})).pixels,
            (Bytes{100, 100, 100}));
  Bytes keyed = stored_png({1, 2}, 8, PNG_COLOR_TYPE_GRAY, {0, 7, 8});
  EXPECT_EQ(decoded(with_chunk(keyed, "tRNS", {0, 7})).pixels, (Bytes{0, 0, 0, 8, 8, 8}));
}

TEST(Png, SmallNumbersOfMasksStay) {
  LabelImage mask;
  decode_labels(stored_png({1, 4}, 2, PNG_COLOR_TYPE_GRAY, {0, 0b00011011}), mask);
  EXPECT_EQ(mask.labels, (Bytes{0, 1, 2, 3}));
  EXPECT_EQ(decoded(stored_png({1, 4}, 2, PNG_COLOR_TYPE_GRAY, {0, 0b00011011})).pixels,
            (Bytes{0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255}));
}

TEST(Jpeg, IsCloseToThePixelsThatWereWritten) {
  RgbImage image = smooth_image(40, 52);
  for (bool progressive : {false, true}) {
    Bytes file = jpeg_bytes(image, {.progressive = progressive});
    EXPECT_EQ(image_size(file), (ImageSize{40, 52}));
    EXPECT_LE(worst_difference(decoded(file), image), 5);
  }
}

TEST(Jpeg, GrayAndCmykBecomeRgb) {
  RgbImage gray{{8, 8}, Bytes(64, 200)};
  EXPECT_LE(
      worst_difference(decoded(jpeg_bytes(gray, {.components = 1})), {{8, 8}, Bytes(192, 200)}), 1);
  RgbImage ink{{8, 8}, {}};  // as Adobe's programs store it: 255 is no ink
  for (int i = 0; i < 64; ++i) ink.pixels.insert(ink.pixels.end(), {255, 128, 0, 128});
  RgbImage expected{{8, 8}, {}};
  for (int i = 0; i < 64; ++i) expected.pixels.insert(expected.pixels.end(), {128, 64, 0});
  for (bool marker : {true, false})  // viewers take Adobe's form for granted
    EXPECT_LE(worst_difference(decoded(jpeg_bytes(
                                   ink, {.quality = 100, .components = 4, .adobe_marker = marker})),
                               expected),
              2);
}

// A reduced image is the mean of the blocks of pixels that it stands for.
TEST(Jpeg, ReductionIsTheMeanOfBlocks) {
  RgbImage image = smooth_image(64, 48);
  Bytes file = jpeg_bytes(image, {.quality = 100});
  for (int reduce : {2, 4, 8}) {
    RgbImage small = decoded(file, reduce);
    ASSERT_EQ(small.size, (ImageSize{64 / reduce, 48 / reduce}));
    for (int64_t y = 0; y < small.size.height; ++y)
      for (int64_t x = 0; x < small.size.width; ++x)
        for (int64_t c = 0; c < 3; ++c) {
          double sum = 0;
          for (int64_t v = 0; v < reduce; ++v)
            for (int64_t u = 0; u < reduce; ++u)
              sum += image.pixels[static_cast<size_t>(((y * reduce + v) * 48 + x * reduce + u) * 3 +
                                                      c)];
          ASSERT_NEAR(small.pixels[static_cast<size_t>((y * small.size.width + x) * 3 + c)],
                      sum / (reduce * reduce), 4);
        }
  }
  EXPECT_EQ(decoded(jpeg_bytes(smooth_image(17, 9)), 8).size, (ImageSize{3, 2}));  // rounded up
}

TEST(Jpeg, MemoryOfALargerImageIsUsedAgain) {
  RgbImage image;
  decode_image(jpeg_bytes(smooth_image(50, 50)), 1, image);
  decode_image(jpeg_bytes(smooth_image(8, 8)), 1, image);
  EXPECT_EQ(image.pixels.size(), 192u);
}

// A file cut off at any byte is refused: missing pixels are never made up.
TEST(ImageDecode, CutOffFilesAreRefused) {
  RgbImage image = smooth_image(24, 24);
  for (const Bytes& file :
       {jpeg_bytes(image), jpeg_bytes(image, {.progressive = true}), png_bytes(image)}) {
    size_t step = std::max<size_t>(1, file.size() / 97);
    // The last bytes are a JPEG's end mark, or the end of a PNG's last, empty chunk.
    for (size_t size = 0; size + 13 < file.size(); size += step) {
      RgbImage half;
      EXPECT_THROW(decode_image({file.data(), size}, 1, half), Error) << size;
    }
  }
}

TEST(ImageDecode, FilesOfOtherFormatsAreRefused) {
  EXPECT_THAT(image_refusal({}), HasSubstr("0 bytes are no JPEG, PNG, WebP, BMP or TIFF image"));
  EXPECT_THAT(image_refusal(Bytes{'G', 'I', 'F', '8', '9', 'a'}),
              HasSubstr("TIFF image; convert or remove the file"));
  EXPECT_THAT(image_refusal(gzip(jpeg_bytes(smooth_image(8, 8)))),
              HasSubstr("it is compressed by gzip; unpack it by gunzip"));
  EXPECT_THAT(image_refusal(Bytes{0xff, 0xd8, 0xff, 0xe0, 1, 2, 3, 4}),
              HasAll("JPEG: ", "; get an intact copy"));
  EXPECT_THAT(image_refusal(Bytes{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0}),
              HasSubstr("PNG: "));
}

TEST(ImageDecode, DamagedPixelsAreRefused) {
  Bytes png = png_bytes(smooth_image(24, 24));
  png[png.size() / 2] ^= 0x10;  // within the compressed pixels
  EXPECT_THAT(image_refusal(png), HasAll("PNG: ", "; get an intact copy"));
}

// Sizes stand in the header, whatever follows.
TEST(ImageDecode, SizesBeyondTheLimitsAreRefused) {
  Bytes jpeg = jpeg_bytes(smooth_image(8, 8));
  const Bytes frame = {0xff, 0xc0};
  auto at = std::search(jpeg.begin(), jpeg.end(), frame.begin(), frame.end()) - jpeg.begin();
  auto with_size = [&](uint32_t height, uint32_t width) {
    Bytes changed = jpeg;
    for (int byte = 0; byte < 2; ++byte) {
      changed[static_cast<size_t>(at) + 5 + byte] = static_cast<uint8_t>(height >> (8 - 8 * byte));
      changed[static_cast<size_t>(at) + 7 + byte] = static_cast<uint8_t>(width >> (8 - 8 * byte));
    }
    return changed;
  };
  EXPECT_THAT(image_refusal(with_size(20000, 8)),
              HasAll("20000 x 8 pixels", "at most 16384 a side", "make it smaller"));
  EXPECT_THAT(image_refusal(with_size(9000, 9000)), HasSubstr("the file is damaged"));
  EXPECT_THROW(decoded(jpeg, 3), Error);
}

// Images are read as viewers show them: turned upright, whatever the format.

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

// Rows are stored from the lowest on, blue first, and padded to 4 bytes.
TEST(Bmp, ColorsOf24Bits) {
  Bytes rows = {3, 2, 1, 6, 5, 4, 0, 0, 9, 8, 7, 12, 11, 10, 0, 0};
  EXPECT_EQ(shown(bmp_bytes({2, 2}, rows)).pixels, (Bytes{7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(shown(bmp_bytes({2, 2}, rows, {.from_top = true})).pixels,
            (Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST(Bmp, ColorsOf32Bits) {
  Bytes rows = {3, 2, 1, 255, 6, 5, 4, 255};
  EXPECT_EQ(shown(bmp_bytes({1, 2}, rows, {.bits = 32})).pixels, (Bytes{1, 2, 3, 4, 5, 6}));
  BmpKind masked = {.bits = 32, .compression = 3, .masks = {0xff, 0xff00, 0xff0000}};
  EXPECT_EQ(shown(bmp_bytes({1, 2}, rows, masked)).pixels, (Bytes{3, 2, 1, 6, 5, 4}));
}

TEST(Bmp, Palettes) {
  std::vector<uint32_t> palette = {0x000000, 0x010203, 0xa0b0c0, 0xffffff};
  Bytes expected = {1, 2, 3, 0xa0, 0xb0, 0xc0, 255, 255, 255};
  EXPECT_EQ(shown(bmp_bytes({1, 3}, {1, 2, 3, 0}, {.bits = 8, .palette = palette})).pixels,
            expected);
  EXPECT_EQ(shown(bmp_bytes({1, 3}, {0x12, 0x30, 0, 0}, {.bits = 4, .palette = palette})).pixels,
            expected);
  palette.resize(2);
  EXPECT_EQ(shown(bmp_bytes({1, 3}, {0b01000000, 0, 0, 0}, {.bits = 1, .palette = palette})).pixels,
            (Bytes{0, 0, 0, 1, 2, 3, 0, 0, 0}));
}

// Four masks: the last one is of alpha. Where all of it is 0, nothing is meant to be clear.
TEST(Bmp, TransparentPixelsLieOnBlack) {
  BmpKind clear = {.bits = 32, .compression = 6, .masks = {0xff0000, 0xff00, 0xff, 0xff000000}};
  EXPECT_EQ(shown(bmp_bytes({1, 2}, {50, 100, 200, 128, 3, 2, 1, 255}, clear)).pixels,
            (Bytes{100, 50, 25, 1, 2, 3}));
  EXPECT_EQ(shown(bmp_bytes({1, 2}, {50, 100, 200, 0, 3, 2, 1, 0}, clear)).pixels,
            (Bytes{200, 100, 50, 1, 2, 3}));
}

TEST(Bmp, WhatIsNotSupportedIsRefused) {
  Bytes rows(64);
  EXPECT_THAT(image_refusal(bmp_bytes({2, 2}, rows, {.bits = 16})),
              HasSubstr("BMP: only 1, 4, 8, 24 or 32 bits"));
  EXPECT_THAT(image_refusal(bmp_bytes({2, 2}, rows, {.bits = 8, .compression = 1})),
              HasSubstr("compression is not supported"));
  BmpKind odd = {.bits = 32, .compression = 3, .masks = {0x1f, 0xff00, 0xff0000}};
  EXPECT_THAT(image_refusal(bmp_bytes({2, 2}, rows, odd)), HasSubstr("no whole bytes"));
  BmpKind crowded = {.bits = 8, .palette = std::vector<uint32_t>(257)};
  EXPECT_THAT(image_refusal(bmp_bytes({2, 2}, rows, crowded)), HasSubstr("more than 256 colors"));
}

TEST(Bmp, CutOffFilesAreRefused) {
  Bytes file = bmp_bytes({4, 4}, Bytes(48));
  for (size_t size = 2; size < file.size(); ++size)
    EXPECT_THAT(image_refusal({file.data(), size}), HasSubstr("cut off")) << size;
}

TEST(Bmp, ImpossibleSizesAreRefused) {
  EXPECT_THAT(image_refusal(bmp_bytes({20000, 8}, {})), HasSubstr("at most 16384 a side"));
  EXPECT_THAT(image_refusal(bmp_bytes({9000, 9000}, {})), HasSubstr("the file is damaged"));
  EXPECT_THAT(image_refusal(bmp_bytes({INT32_MIN, 4}, {})), HasSubstr("an impossible height"));
}

// PNG files that are written for people.

TEST(PngImage, UndoesTheNormalization) {
  std::vector<float> values = {-1.0f, 1.0f, 0.0f, 99.0f};  // (pixel / 255 - 0.5) / 0.25
  PngImage image = to_png_image(values, {2, 2, 1}, {{0.5}, {0.25}});
  EXPECT_THAT(image.pixels, testing::ElementsAre(64, 191, 128, 255));  // 0.25, 0.75, 0.5, cut
  EXPECT_THAT(to_png_image(values, {1, 2, 2}, {}).pixels,
              testing::ElementsAre(0, 0));  // two channels: first
}

TEST(PngImage, FileContainsTheWrittenPixels) {
  Folder folder;
  for (int64_t channels : {1, 3}) {
    PngImage image{5, 7, channels, pattern(static_cast<size_t>(35 * channels))};
    write_png(folder / "a.png", image);
    RgbImage read = decoded(file_bytes(folder / "a.png"));
    EXPECT_EQ(read.size, (ImageSize{5, 7}));
    for (size_t i = 0; i < read.pixels.size(); ++i)
      ASSERT_EQ(read.pixels[i], image.pixels[channels == 1 ? i / 3 : i]);
  }
}

TEST(PngImage, GridHasAWhiteLineBetweenImages) {
  PngImage black{1, 2, 1, {0, 1}};
  PngImage grid = grid_of({black, black, black}, 2);
  EXPECT_EQ(grid.height, 3);
  EXPECT_EQ(grid.width, 5);
  EXPECT_THAT(grid.pixels,
              testing::ElementsAre(0, 1, 255, 0, 1, 255, 255, 255, 255, 255, 0, 1, 255, 255, 255));
}

TEST(PngImage, MissingFolderIsNamed) {
  EXPECT_THAT(message_of(Category::data,
                         [] {
                           write_png("/nowhere/a.png", {1, 1, 1, {0}});
                         }),
              HasSubstr("/nowhere/a.png"));
}

}  // namespace
}  // namespace spire
