// HDF5 files whose targets are images or masks.
#include <cstring>

#include <gmock/gmock.h>

#include "tests/data/formats/hdf5_splits.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr hsize_t count = 12, height = 6, width = 5;

Bytes pixels(hsize_t channels, unsigned factor, unsigned modulus) {
  Bytes values(count * height * width * channels);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * factor % modulus);
  return values;
}

// Writes images (12, 6, 5, 3) and a target to both splits.
template <typename T>
void write_pairs(const std::filesystem::path& path, const std::string& target,
                 const std::vector<hsize_t>& dims, const std::vector<T>& values) {
  write_parts(path, [&](Hdf5File& file, const std::string& part) {
    file.put(part + "images", {count, height, width, 3}, pixels(3, 7, 251), 4);
    file.put(part + target, dims, values, 3);
  });
}

DatasetPair open_pairs(const std::filesystem::path& path, const AugmentConfig& augment = {}) {
  DataConfig config = config_of(path);
  config.normalize = DataConfig::Normalize::unit;
  config.augment = augment;
  return open_dataset(config, {});
}

std::string refusal(const std::filesystem::path& path) {
  return message_of(Category::data,
                    [&] { read_column<std::byte>(*open_pairs(path).train, 1, {0}); });
}

TEST(Hdf5Pairs, TargetImagesMayHaveOtherChannels) {
  Folder folder;
  Bytes target = pixels(1, 11, 256);
  for (const std::vector<hsize_t>& dims : {std::vector<hsize_t>{count, height, width, 1},
                                           std::vector<hsize_t>{count, height, width}}) {
    write_pairs(folder / "a.h5", "target_images", dims, target);
    DatasetPair pair = open_pairs(folder / "a.h5");
    EXPECT_THAT(pair.train->spec().columns,
                ElementsAre(Column{"images", {6, 5, 3}, DType::f32},
                            Column{"target_images", {6, 5, 1}, DType::f32}));
    std::vector<float> values = read_column<float>(*pair.train, 1, {7});
    for (size_t i = 0; i < 30; ++i)
      EXPECT_EQ(values[i], static_cast<float>(target[7 * 30 + i] / 255.0)) << i;
  }
  DataConfig standard = config_of(folder / "a.h5");
  EXPECT_EQ(open_dataset(standard, {}).train->spec().normalization,
            (Normalization{{0, 0, 0}, {1, 1, 1}}));  // auto
  standard.normalize = DataConfig::Normalize::standard;
  EXPECT_THAT(open_refusal(standard, Category::config),
              HasSubstr("images have 3 channels and their targets 1"));
}

TEST(Hdf5Pairs, MasksHaveClassesAndMoveWithTheirImages) {
  Folder folder;
  Bytes masks = pixels(1, 1, 4);
  masks[3] = 255;
  write_pairs(folder / "a.h5", "masks", {count, height, width}, masks);
  DatasetPair pair = open_pairs(folder / "a.h5");
  EXPECT_THAT(pair.train->spec().columns[1], (Column{"masks", {6, 5}, DType::i32}));
  EXPECT_EQ(pair.train->spec().classes, 4);
  std::vector<int32_t> classes = read_column<int32_t>(*pair.train, 1, {0});
  for (size_t i = 0; i < 30; ++i) EXPECT_EQ(classes[i], i == 3 ? -1 : static_cast<int>(i % 4));
  // Cropped, pixels outside of the mask have no class.
  DatasetPair moved = open_pairs(folder / "a.h5", {.crop = 4});
  int64_t outside = 0;
  for (int64_t epoch = 0; epoch < 8; ++epoch)
    outside += std::ranges::count(read_column<int32_t>(*moved.train, 1, {1}, epoch), -1);
  EXPECT_GT(outside, 0);
}

TEST(Hdf5Pairs, TargetsThatDoNotFitAreRefused) {
  Folder folder;
  std::filesystem::path path = folder / "a.h5";
  write_pairs(path, "masks", {count, height, width + 1}, Bytes(count * height * (width + 1)));
  EXPECT_THAT(refusal(path), HasSubstr("has 6 x 6 pixels, but images has 6 x 5"));
  write_pairs(path, "masks", {count, height, width},
              std::vector<int32_t>(count * height * width, 1));
  EXPECT_THAT(refusal(path), HasSubstr("target images and masks are unsigned 8-bit integers"));
  Bytes masks(count * height * width, 1);
  masks[31] = 9;
  write_pairs(path, "masks", {count, height, width}, masks);
  write_parts(folder / "b.h5", [&](Hdf5File& file, const std::string& part) {
    file.put(part + "features", {count, 2}, std::vector<float>(2 * count, 1.0f));
    file.put(part + "masks", {count, height, width}, masks);
  });
  EXPECT_THAT(refusal(folder / "b.h5"), HasSubstr("3 dimensions, expected 1 or 2"));
}

}  // namespace
}  // namespace spire
