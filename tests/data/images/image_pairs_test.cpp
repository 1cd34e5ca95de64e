// Pairs of image files: where they are found, masks, joint augmentation, and what is refused.
#include "engine/data/images/image_pairs.h"

#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <png.h>

#include "engine/data/images/augment.h"
#include "engine/data/images/png.h"
#include "tests/data/images/image_files.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

namespace fs = std::filesystem;
using Target = PairsConfig::Target;

// Writes a mask (H, W) as a gray file. Class 0 to 2, by the pixel's place, and one pixel of 255.
void put_mask(const fs::path& path, int64_t height, int64_t width) {
  PngImage mask{height, width, 1, {}};
  for (int64_t i = 0; i < height * width; ++i) mask.pixels.push_back(static_cast<uint8_t>(i % 3));
  mask.pixels[4] = 255;
  fs::create_directories(path.parent_path());
  write_png(path, mask);
}

// Inputs a, b, c, .. of 12 x 10 pixels, each with itself as a target image and with a mask.
void put_pairs(const fs::path& folder, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::string name(1, static_cast<char>('a' + i));
    Bytes image = png_bytes(smooth_image(12, 10, static_cast<int>(i) + 1));
    write_file(folder / "input" / (name + ".png"), image);
    write_file(folder / "target" / (name + ".PNG"), image);
  }
}
void put_masks(const fs::path& folder, int64_t count) {
  put_pairs(folder, count);
  fs::remove_all(folder / "target");
  for (int64_t i = 0; i < count; ++i)
    put_mask(folder / "target" / (std::string(1, static_cast<char>('a' + i)) + ".png"), 12, 10);
}

DataConfig pairs_config(const fs::path& path, Target target = Target::image) {
  DataConfig config = data_at("image_pairs", path);
  config.pairs.target = target;
  config.pairs.test_share = 0.4;
  return config;
}

DatasetPair opened(const DataConfig& config) {
  return open_dataset(config, {});
}

struct Pair {
  std::vector<float> image, target = {};
  std::vector<int32_t> mask = {};
};

Pair pair_of(const Dataset& data, int64_t sample, int64_t epoch = 0) {
  Pair pair = {.image = read_column<float>(data, 0, {sample}, epoch)};
  if (data.spec().columns[1].name == "masks")
    pair.mask = read_column<int32_t>(data, 1, {sample}, epoch);
  else
    pair.target = read_column<float>(data, 1, {sample}, epoch);
  return pair;
}

std::string refusal(const DataConfig& config, Category category = Category::data) {
  return message_of(category, [&] {
    DatasetPair pair = opened(config);
    for (const Dataset* half : {pair.train.get(), pair.test.get()})
      for (int64_t i = 0; i < half->count(); ++i) pair_of(*half, i);
  });
}

class ImagePairs : public FolderTest {};

TEST_F(ImagePairs, MatchByNameWithoutExtension) {
  put_pairs(folder_.path(), 8);
  write_file(folder_ / "target/extra/z.png", png_bytes(smooth_image(12, 10, 9)));
  DatasetPair pair = opened(pairs_config(folder_.path()));
  EXPECT_EQ(pair.train->count() + pair.test->count(), 8);
  EXPECT_GT(pair.train->count(), 0);
  EXPECT_GT(pair.test->count(), 0);
  EXPECT_THAT(pair.train->spec().columns,
              ElementsAre(Column{"images", {12, 10, 3}, DType::f32},
                          Column{"target_images", {12, 10, 3}, DType::f32}));
  EXPECT_THAT(pair.notes, ElementsAre(HasSubstr("1 image without an input, such as extra/z.png")));
  for (int64_t i = 0; i < pair.train->count(); ++i) {
    Pair read = pair_of(*pair.train, i);
    EXPECT_EQ(read.image, read.target) << i;
  }
}

TEST_F(ImagePairs, PartsAreFoldersOrLists) {
  put_pairs(folder_ / "both/train", 3);
  put_pairs(folder_ / "both/val", 2);
  PairSplits folders = list_pairs(folder_ / "both", 0.5);
  EXPECT_THAT(folders.train.pairs, SizeIs(3));
  EXPECT_THAT(folders.test.pairs, SizeIs(2));
  EXPECT_EQ(folders.train.pairs[1].target, folder_ / "both/train/target/b.PNG");

  std::ofstream(folder_ / "both/pairs.csv") << "input,target\ntrain/input/a.png, val/target/a.PNG\n"
                                               "\"train/input/b.png\",val/target/b.PNG\n";
  PairListing list = list_pair_file(folder_ / "both/pairs.csv");
  ASSERT_THAT(list.pairs, SizeIs(2));
  EXPECT_EQ(list.pairs[0].input, folder_ / "both/train/input/a.png");
  EXPECT_EQ(list.pairs[0].target, folder_ / "both/val/target/a.PNG");

  fs::create_directories(folder_ / "lists");
  std::ofstream(folder_ / "lists/train.csv")
      << "../both/train/input/a.png,../both/val/target/a.PNG\n";
  std::ofstream(folder_ / "lists/test.csv")
      << "../both/train/input/b.png,../both/val/target/b.PNG\n";
  PairSplits lists = list_pairs(folder_ / "lists", 0.5);
  EXPECT_THAT(lists.train.pairs, SizeIs(1));
  EXPECT_THAT(lists.test.pairs, SizeIs(1));
}

// Whether the number of classes is given or counted.
TEST_F(ImagePairs, MasksOfColorsAndOf16BitsAreRefusedByName) {
  Bytes colors = png_bytes(smooth_image(12, 10));
  std::vector<uint16_t> deep(120, 3);
  Bytes of_16_bits = png_bytes(deep.data(), {12, 10}, PNG_FORMAT_LINEAR_Y);
  Bytes jpeg = jpeg_bytes(smooth_image(12, 10));
  for (int64_t classes : {0, 3})
    for (const auto& [file, problem] :
         {std::pair{colors, "this one has colors: give each color the number of its class"},
          {of_16_bits, "this one has 16 bits: write its numbers, 0 to 254, with 8"},
          {jpeg, "a mask is a PNG file, and this one is not"}}) {
      Folder folder;
      put_masks(folder.path(), 5);
      for (const char* name : {"a", "b", "c", "d", "e"})
        write_file(folder / "target" / (std::string(name) + ".png"), file);
      DataConfig config = pairs_config(folder.path(), Target::mask);
      config.pairs.classes = classes;
      EXPECT_THAT(refusal(config), HasAll(".png: ", problem));
    }
}

TEST_F(ImagePairs, MasksHaveClassesAndPixelsWithoutOne) {
  put_masks(folder_.path(), 6);
  DatasetPair pair = opened(pairs_config(folder_.path(), Target::mask));
  EXPECT_EQ(pair.train->spec().classes, 3);  // as many as the masks contain
  EXPECT_THAT(pair.train->spec().columns[1], (Column{"masks", {12, 10}, DType::i32}));
  std::vector<int32_t> mask = pair_of(*pair.train, 0).mask;
  for (size_t i = 0; i < mask.size(); ++i)
    EXPECT_EQ(mask[i], i == 4 ? -1 : static_cast<int>(i % 3));

  DataConfig more = pairs_config(folder_.path(), Target::mask);
  more.pairs.classes = 7;
  EXPECT_EQ(opened(more).train->spec().classes, 7);
}

// Palette files, as PASCAL VOC has them: the numbers are classes, whatever their colors.
TEST_F(ImagePairs, PalettesKeepTheirNumbers) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = 3, header.height = 2;
  header.format = PNG_FORMAT_RGB_COLORMAP;
  header.colormap_entries = 4;
  Bytes colors = {9, 9, 9, 200, 0, 0, 9, 9, 9, 0, 200, 0}, numbers = {0, 1, 2, 3, 2, 1};
  std::string path = (folder_ / "mask.png").string();
  ASSERT_NE(png_image_write_to_file(&header, path.c_str(), 0, numbers.data(), 0, colors.data()), 0);
  Bytes file;
  read_image_file(path, file);
  LabelImage mask;
  decode_labels(file, mask);
  EXPECT_EQ(mask.size, (ImageSize{2, 3}));
  EXPECT_EQ(mask.labels, numbers);
}

TEST_F(ImagePairs, BlackAndWhiteMasksAreTwoClasses) {
  MaskValues values(2, -1);
  EXPECT_EQ(values.classes()[255], 1);
  EXPECT_EQ(values.classes()[1], 1);
  EXPECT_EQ(values.classes()[2], MaskValues::invalid);
  EXPECT_EQ(MaskValues(3, 255).outside(), 255);
  EXPECT_THAT(message_of(Category::data, [] { MaskValues(1, 255); }),
              HasSubstr("masks of 1 class: give 2 to 255"));
  // Without an ignore label pixels outside of the mask have a value that masks may not have.
  EXPECT_EQ(values.outside(), 254);
  EXPECT_EQ(values.classes()[254], MaskValues::unlabelled);
  EXPECT_THAT(message_of(Category::data,
                         [&] {
                           values.check(Bytes{0, 1, 255, 254}, 2);
                         }),
              HasSubstr("pixel (1, 1) of the mask is 254, expected a class from 0 to 1"));
}

// The target is its own input, so whatever moves one must move the other.
TEST_F(ImagePairs, BothMoveAlike) {
  put_pairs(folder_.path(), 6);
  DataConfig config = pairs_config(folder_.path());
  config.augment = {.crop = 3, .flip = true};
  for (int64_t size : {0, 8}) {
    config.image.size = size;
    config.augment.random_resized_crop = size > 0;
    DatasetPair pair = opened(config);
    std::set<std::vector<float>> seen;
    for (int64_t epoch = 0; epoch < 20; ++epoch) {
      Pair read = pair_of(*pair.train, 1, epoch);
      EXPECT_EQ(read.image, read.target);
      seen.insert(read.image);
    }
    EXPECT_GT(seen.size(), 10u);
  }
  // Colors change in the input alone.
  config.augment.color_jitter.brightness = 0.5;
  Pair read = pair_of(*opened(config).train, 1, 3);
  EXPECT_NE(read.image, read.target);
}

// A target that is the negative of its input stays that: what is moved in from outside are pixels
// of both, and not black in both.
TEST_F(ImagePairs, PixelsFromOutsideAreThoseOfThePair) {
  for (int64_t i = 0; i < 6; ++i) {
    PngImage image{9, 9, 3, pattern(9 * 9 * 3)}, negative = image;
    for (uint8_t& pixel : negative.pixels) pixel = static_cast<uint8_t>(255 - pixel);
    for (const char* part : {"input", "target"}) fs::create_directories(folder_ / part);
    write_png(folder_ / "input" / fmt::format("{}.png", i), image);
    write_png(folder_ / "target" / fmt::format("{}.png", i), negative);
  }
  DataConfig config = pairs_config(folder_.path());
  config.normalize = DataConfig::Normalize::unit;
  for (bool affine : {false, true}) {
    config.augment = {.crop = 3, .flip = true};
    if (affine) config.augment.affine = {.rotate = 20, .translate = 0.2};
    DatasetPair pair = opened(config);
    for (int64_t epoch = 0; epoch < 20; ++epoch) {
      Pair read = pair_of(*pair.train, 1, epoch);
      // Pixels between two are rounded in each image.
      for (size_t p = 0; p < read.image.size(); ++p)
        ASSERT_NEAR(read.image[p] + read.target[p], 1, affine ? 1.1 / 255 : 1e-6);
    }
  }
}

// A mask drawn from its image's own pixels finds them again after every crop and flip; pixels
// outside of it have no class.
TEST_F(ImagePairs, MasksMoveWithTheirImages) {
  for (int64_t i = 0; i < 6; ++i) {
    std::string name = fmt::format("{}.png", i);
    PngImage mask{9, 9, 1, {}}, image{9, 9, 3, {}};
    for (int64_t p = 0; p < 81; ++p) {
      auto value = static_cast<uint8_t>((p * 7 + i) % 5);
      mask.pixels.push_back(value);
      image.pixels.insert(image.pixels.end(), 3, static_cast<uint8_t>(50 * value + 50));
    }
    for (const char* part : {"input", "target"}) fs::create_directories(folder_ / part);
    write_png(folder_ / "input" / name, image);
    write_png(folder_ / "target" / name, mask);
  }
  DataConfig config = pairs_config(folder_.path(), Target::mask);
  config.augment = {.crop = 2, .flip = true};
  config.normalize = DataConfig::Normalize::unit;
  DatasetPair pair = opened(config);
  int64_t outside = 0;
  for (int64_t epoch = 0; epoch < 30; ++epoch) {
    Pair read = pair_of(*pair.train, 0, epoch);
    for (size_t p = 0; p < 81; ++p) {
      int pixel = static_cast<int>(std::lround(255 * double{read.image[3 * p]}));
      ASSERT_EQ(read.mask[p], pixel == 0 ? -1 : (pixel - 50) / 50) << epoch << " " << p;
      outside += pixel == 0;
    }
  }
  EXPECT_GT(outside, 0);
}

TEST_F(ImagePairs, IncompletePairsAreRefused) {
  put_pairs(folder_.path(), 4);
  write_file(folder_ / "input/x.png", png_bytes(smooth_image(12, 10, 1)));
  EXPECT_THAT(refusal(pairs_config(folder_.path())), HasSubstr("input/x.png: has no target"));
  fs::remove(folder_ / "input/x.png");
  write_file(folder_ / "input/a.jpg", jpeg_bytes(smooth_image(12, 10, 1)));
  EXPECT_THAT(refusal(pairs_config(folder_.path())), HasSubstr("a.jpg and a.png have one name"));
  fs::remove(folder_ / "input/a.jpg");
  DataConfig config = pairs_config(folder_.path());
  config.pairs.test_share = 1e-9;
  EXPECT_THAT(refusal(config), HasSubstr("no pair is left for the test"));
  fs::rename(folder_ / "target", folder_ / "targets");
  EXPECT_THAT(refusal(pairs_config(folder_.path())),
              HasSubstr("needs the folders input and target"));
  put_pairs(folder_ / "train", 1);
  EXPECT_THAT(refusal(pairs_config(folder_.path())), HasSubstr("neither val nor test"));
}

TEST_F(ImagePairs, ListsWithMistakesAreRefusedByLine) {
  put_pairs(folder_.path(), 1);
  fs::path csv = folder_ / "pairs.csv";
  auto message = [&](const std::string& text) {
    std::ofstream(csv) << text;
    return message_of(Category::data, [&] { list_pair_file(csv); });
  };
  EXPECT_THAT(message("input,target\ninput/a.png\n"), HasSubstr("pairs.csv:2:1: 1 field instead"));
  EXPECT_THAT(message("input/a.png,target/b.png\n"), HasSubstr("pairs.csv:1:13: there is no file"));
  EXPECT_THAT(message("in\"put,target/a.PNG\n"), HasSubstr("pairs.csv:1:"));
}

TEST_F(ImagePairs, SizesMustAgree) {
  put_pairs(folder_.path(), 4);
  Bytes larger = png_bytes(smooth_image(14, 10, 1));
  write_file(folder_ / "target/b.PNG", larger);
  EXPECT_THAT(refusal(pairs_config(folder_.path())), HasSubstr("has another size than its input"));
  write_file(folder_ / "input/b.png", larger);
  EXPECT_THAT(refusal(pairs_config(folder_.path())), HasSubstr("set data.image.size"));
  DataConfig resized = pairs_config(folder_.path());
  resized.image.size = 8;
  DatasetPair pair = opened(resized);
  EXPECT_EQ(pair.train->spec().columns[1].shape, Shape({8, 8, 3}));
  for (int64_t i = 0; i < pair.train->count(); ++i) pair_of(*pair.train, i);
}

TEST_F(ImagePairs, WrongMasksAreRefused) {
  put_masks(folder_.path(), 4);
  DataConfig config = pairs_config(folder_.path(), Target::mask);
  config.pairs.classes = 2;
  EXPECT_THAT(refusal(config),
              HasSubstr("pixel (0, 2) of the mask is 2, expected a class from 0 to "
                        "1, or 255 for none"));
  config.pairs.ignore_label = 1;
  EXPECT_THAT(refusal(config, Category::config),
              HasSubstr("data.pairs.ignore_label: 1 is one of the 2 classes"));
  config = pairs_config(folder_.path(), Target::mask);
  config.pairs.ignore_label = -1;
  EXPECT_THAT(refusal(config), HasSubstr("masks of 256 classes: give 2 to 255"));
}

TEST_F(ImagePairs, AugmentationsWithoutACounterpartAreRefused) {
  put_pairs(folder_.path(), 4);
  DataConfig config = pairs_config(folder_.path());
  config.augment.rand_augment.count = 2;
  EXPECT_THAT(refusal(config, Category::config), HasSubstr("data.augment.rand_augment"));
  config.augment = {.random_resized_crop = true};
  EXPECT_THAT(refusal(config, Category::config), HasSubstr("set data.image.size"));
}

}  // namespace
}  // namespace spire
