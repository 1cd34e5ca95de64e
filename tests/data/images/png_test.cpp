#include "engine/data/images/png.h"

#include <gmock/gmock.h>
#include <png.h>

#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PngImage read_png(const std::filesystem::path& path, int64_t channels) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_file(&header, path.c_str()), 0) << header.message;
  header.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  PngImage image{header.height, header.width, channels, {}};
  image.pixels.resize(PNG_IMAGE_SIZE(header));
  EXPECT_NE(png_image_finish_read(&header, nullptr, image.pixels.data(), 0, nullptr), 0);
  return image;
}

TEST(PngImage, UndoesTheNormalization) {
  std::vector<float> values = {-1.0f, 1.0f, 0.0f, 99.0f};  // (pixel / 255 - 0.5) / 0.25
  PngImage image = to_png_image(values, {2, 2, 1}, {{0.5}, {0.25}});
  EXPECT_THAT(image.pixels, ElementsAre(64, 191, 128, 255));  // 0.25, 0.75, 0.5, cut
  EXPECT_THAT(to_png_image(values, {1, 2, 2}, {}).pixels,
              ElementsAre(0, 0));  // two channels: first
}

TEST(PngImage, FileContainsTheWrittenPixels) {
  TemporaryFolder folder;
  for (int64_t channels : {1, 3}) {
    PngImage image{5, 7, channels, pattern(static_cast<size_t>(35 * channels))};
    write_png(folder / "a.png", image);
    PngImage read = read_png(folder / "a.png", channels);
    EXPECT_EQ(read.height, 5);
    EXPECT_EQ(read.width, 7);
    EXPECT_EQ(read.pixels, image.pixels);
  }
}

TEST(PngImage, GridHasAWhiteLineBetweenImages) {
  PngImage black{1, 2, 1, {0, 1}};
  PngImage grid = grid_of({black, black, black}, 2);
  EXPECT_EQ(grid.height, 3);
  EXPECT_EQ(grid.width, 5);
  EXPECT_THAT(grid.pixels,
              ElementsAre(0, 1, 255, 0, 1, 255, 255, 255, 255, 255, 0, 1, 255, 255, 255));
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
