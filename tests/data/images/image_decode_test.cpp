#include "engine/data/images/image_decode.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>

#include "tests/data/images/image_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

RgbImage decoded(const Bytes& file, int reduce = 1) {
  RgbImage image;
  decode_image(file, reduce, image);
  EXPECT_EQ(image.pixels.size(), static_cast<size_t>(3 * image.size.height * image.size.width));
  return image;
}

std::string refusal(const Bytes& file) {
  return message_of(Category::data, [&] { decoded(file); });
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
  EXPECT_THAT(refusal({}), HasSubstr("0 bytes are no JPEG, PNG, WebP, BMP or TIFF image"));
  EXPECT_THAT(refusal({'G', 'I', 'F', '8', '9', 'a'}),
              HasSubstr("TIFF image; convert or remove the file"));
  EXPECT_THAT(refusal(gzip(jpeg_bytes(smooth_image(8, 8)))),
              HasSubstr("it is compressed by gzip; unpack it by gunzip"));
  EXPECT_THAT(refusal({0xff, 0xd8, 0xff, 0xe0, 1, 2, 3, 4}),
              AllOf(HasSubstr("JPEG: "), HasSubstr("; get an intact copy")));
  EXPECT_THAT(refusal({0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0, 0}), HasSubstr("PNG: "));
}

TEST(ImageDecode, DamagedPixelsAreRefused) {
  Bytes png = png_bytes(smooth_image(24, 24));
  png[png.size() / 2] ^= 0x10;  // within the compressed pixels
  EXPECT_THAT(refusal(png), AllOf(HasSubstr("PNG: "), HasSubstr("; get an intact copy")));
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
  EXPECT_THAT(refusal(with_size(20000, 8)),
              AllOf(HasSubstr("20000 x 8 pixels"), HasSubstr("at most 16384 a side"),
                    HasSubstr("make it smaller")));
  EXPECT_THAT(refusal(with_size(9000, 9000)), HasSubstr("the file is damaged"));
  EXPECT_THROW(decoded(jpeg, 3), Error);
}

}  // namespace
}  // namespace spire
