// Checks images of a user as input of a model.
#include <gmock/gmock.h>

#include "engine/data/images/image_formats.h"
#include "engine/data/images/resized_crop.h"
#include "tests/data/images/image_files.h"
#include "tests/inference/input_files.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

namespace fs = std::filesystem;

// Returns the spec of images (height, width, channels), with a mean and a deviation a channel.
SampleSpec spec_of(int64_t height, int64_t width, int64_t channels, DType dtype = DType::f32) {
  SampleSpec spec;
  spec.columns = {{"images", {height, width, channels}, dtype}};
  for (int64_t c = 0; c < channels; ++c) {
    spec.normalization.mean.push_back(0.25 + 0.125 * static_cast<double>(c));
    spec.normalization.stddev.push_back(0.5 / static_cast<double>(c + 1));
  }
  return spec;
}

DataConfig config_of(const std::string& name) {
  DataConfig config;
  config.name = name;
  return config;
}

// Returns the pixels (H, W, C), normalized by the spec.
std::vector<float> normalized(const std::vector<uint8_t>& pixels, const SampleSpec& spec) {
  std::vector<float> result;
  size_t channels = spec.normalization.mean.size();
  for (size_t i = 0; i < pixels.size(); ++i) {
    double mean = spec.normalization.mean[i % channels];
    result.push_back(
        static_cast<float>((pixels[i] / 255.0 - mean) / spec.normalization.stddev[i % channels]));
  }
  return result;
}

std::string put(const fs::path& path, const Bytes& bytes) {
  fs::create_directories(path.parent_path());
  write_file(path, bytes);
  return path.string();
}

// Returns the middle of an image, resized.
std::vector<uint8_t> fitted(const std::vector<uint8_t>& pixels, ImageSize size, int64_t channels,
                            ImageSize out) {
  std::vector<uint8_t> result(static_cast<size_t>(out.height * out.width * channels));
  ResizeScratch scratch;
  resize(pixels, size, channels, center_crop(size, out), out, result.data(), scratch);
  return result;
}

TEST(ImageRows, OfTheModelsSizeIsTakenAsItIs) {
  Folder folder;
  RgbImage image = smooth_image(6, 9);
  std::string file = put(folder / "a.png", png_bytes(image));
  SampleSpec spec = spec_of(6, 9, 3);
  ReadInputs read = read_inputs({file}, spec, config_of("cifar10"));
  EXPECT_THAT(read.rows, ElementsAre(normalized(image.pixels, spec)));
  EXPECT_EQ(read.origins[0].file.path, file);
  EXPECT_EQ(read.origins[0].file.name, "a.png");
  EXPECT_EQ(read.origins[0].row, 0);
  EXPECT_TRUE(read.origins[0].only);
}

TEST(ImageRows, OfOtherSizesIsCroppedAndResized) {
  Folder folder;
  RgbImage image = smooth_image(40, 30);
  std::string file = put(folder / "a.png", png_bytes(image));
  for (auto [height, width] : {std::pair{16, 16}, std::pair{8, 24}, std::pair{64, 64}}) {
    SampleSpec spec = spec_of(height, width, 3);
    EXPECT_THAT(read_inputs({file}, spec, config_of("hdf5")).rows,
                ElementsAre(normalized(fitted(image.pixels, {40, 30}, 3, {height, width}), spec)));
  }
}

// All of an image, as training resizes images that are stored in one size.
TEST(ImageRows, OfStoredImagesThatAreResizedAreTakenWhole) {
  Folder folder;
  Bytes gray = pattern(64);
  std::string png = put(folder / "a.png", png_bytes(gray.data(), {8, 8}, PNG_FORMAT_GRAY));
  SampleSpec spec = spec_of(4, 4, 1);
  Bytes whole(16);
  ResizeScratch scratch;
  resize(gray, {8, 8}, 1, {0, 0, 8, 8}, {4, 4}, whole.data(), scratch);
  DataConfig config = config_of("idx");
  config.image.size = 4;
  EXPECT_THAT(read_inputs({png}, spec, config).rows, ElementsAre(normalized(whole, spec)));
  config.image = {.eval_size = 4};
  EXPECT_THAT(read_inputs({png}, spec, config).rows, ElementsAre(normalized(whole, spec)));
}

// Also one of the model's size, as training does.
TEST(ImageRows, OfPairsThatAreResizedAreCropped) {
  Folder folder;
  Bytes gray = pattern(256);
  std::string png = put(folder / "a.png", png_bytes(gray.data(), {16, 16}, PNG_FORMAT_GRAY));
  SampleSpec spec = spec_of(16, 16, 1);
  DataConfig config = config_of("image_pairs");
  EXPECT_THAT(read_inputs({png}, spec, config).rows, ElementsAre(normalized(gray, spec)));
  config.image.size = 16;
  EXPECT_THAT(read_inputs({png}, spec, config).rows,
              ElementsAre(normalized(fitted(gray, {16, 16}, 1, {16, 16}), spec)));
}

// All 256 values of gray, and colors by their luma.
TEST(ImageRows, ColorsBecomeGrayAndGrayStays) {
  Folder folder;
  Bytes grays, colors, luma;
  for (size_t v = 0; v < 256; ++v) {
    grays.push_back(static_cast<uint8_t>(v));
    size_t r = v, g = 255 - v, b = v * 7 % 256;
    for (size_t c : {r, g, b}) colors.push_back(static_cast<uint8_t>(c));
    luma.push_back(static_cast<uint8_t>((19595 * r + 38470 * g + 7471 * b + 32768) / 65536));
  }
  std::string gray = put(folder / "g.png", png_bytes(grays.data(), {16, 16}, PNG_FORMAT_GRAY));
  std::string color = put(folder / "c.png", png_bytes(colors.data(), {16, 16}));
  SampleSpec spec = spec_of(16, 16, 1);
  EXPECT_THAT(read_inputs({gray, color}, spec, config_of("idx")).rows,
              ElementsAre(normalized(grays, spec), normalized(luma, spec)));
}

TEST(ImageRows, GrayBecomesThreeEqualChannels) {
  Folder folder;
  Bytes gray = pattern(20 * 10), colors;
  for (uint8_t v : gray) colors.insert(colors.end(), 3, v);
  std::string png = put(folder / "g.png", png_bytes(gray.data(), {20, 10}, PNG_FORMAT_GRAY));
  std::string idx = put(folder / "images", idx_bytes(0x803, {1, 20, 10}, gray));
  SampleSpec own = spec_of(20, 10, 3), other = spec_of(7, 7, 3);
  auto same = normalized(colors, own);
  EXPECT_THAT(read_inputs({png, idx}, own, config_of("cifar10")).rows, ElementsAre(same, same));
  auto small = normalized(fitted(colors, {20, 10}, 3, {7, 7}), other);
  EXPECT_THAT(read_inputs({png, idx}, other, config_of("cifar10")).rows, ElementsAre(small, small));
}

// The same bits as an evaluation during training reads, also of an image of the model's size and of
// a JPEG that is decoded at a fraction of its size.
TEST(ImageRows, OfAnImageFolderAreReadAsItsTestSplit) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    Folder folder;
    put(folder / "train/cat/a.png", png_bytes(smooth_image(40, 40, 2)));
    put(folder / "train/dog/a.png", png_bytes(smooth_image(40, 40, 5)));
    put(folder / "val/cat/a.png", png_bytes(smooth_image(16, 16, 1)));
    put(folder / "val/cat/b.jpg", jpeg_bytes(smooth_image(300, 200, 3)));
    put(folder / "val/cat/c.png", png_bytes(smooth_image(5, 7, 4)));
    put(folder / "val/cat/d.jpg", jpeg_bytes(smooth_image(60, 80), {.components = 3}));
    DataConfig config = config_of("image_folder");
    config.path = folder.path().string();
    config.image.size = 16;
    auto test = open_dataset(config, {.dtype = dtype}).test;
    ReadInputs read = read_inputs({(folder / "val").string()}, test->spec(), config);
    ASSERT_EQ(read.rows.size(), 4u);
    for (int64_t i = 0; i < 4; ++i) {
      std::vector<std::byte> image(test->spec().columns[0].row_bytes());
      int32_t label = 0;
      std::vector<std::byte*> columns = {image.data(), reinterpret_cast<std::byte*>(&label)};
      test->read({&i, 1}, 0, columns);
      std::vector<float> expected(16 * 16 * 3);
      copy_floats(image.data(), dtype, expected);
      EXPECT_EQ(read.rows[static_cast<size_t>(i)], expected) << i;
    }
  }
}

TEST(ImageRows, BatchesChangeNothingAcrossFiles) {
  Folder folder;
  std::string idx = put(folder / "five", idx_bytes(0x803, {5, 4, 4}, pattern(80)));
  std::string packed = put(folder / "two.gz", gzip(idx_bytes(0x803, {2, 4, 4}, pattern(32, 90))));
  std::string png = put(folder / "p.png", png_bytes(smooth_image(9, 9)));
  SampleSpec spec = spec_of(4, 4, 1);
  ReadInputs all = read_inputs({idx, png, packed}, spec, config_of("idx"), true, 100);
  ASSERT_EQ(all.rows.size(), 8u);
  Bytes third = pattern(80);
  third = Bytes(third.begin() + 32, third.begin() + 48);
  EXPECT_EQ(all.rows[2], normalized(third, spec));
  std::vector<int64_t> numbers;
  for (const RowOrigin& origin : all.origins) numbers.push_back(origin.row);
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3, 4, 0, 0, 1));
  EXPECT_EQ(all.origins[6].file.path, packed);
  EXPECT_FALSE(all.origins[6].only);
  for (int64_t batch : {1, 2, 3, 8})
    EXPECT_EQ(read_inputs({idx, png, packed}, spec, config_of("idx"), true, batch).rows, all.rows);
}

TEST(ImageRows, OfAFolderAreItsImagesInOrder) {
  Folder folder;
  Bytes image = png_bytes(smooth_image(4, 4));
  for (const char* name : {"in/b.PNG", "in/a/z.png", "in/a/deep/er.png", "in/.hidden/x.png",
                           "in/.x.png", "in/notes.txt"})
    put(folder / name, image);
  SampleSpec spec = spec_of(4, 4, 3);
  for (std::string end : {"", "/"}) {
    ReadInputs read = read_inputs({(folder / "in").string() + end}, spec, config_of("hdf5"));
    std::vector<std::string> names;
    for (const RowOrigin& origin : read.origins) {
      names.push_back(origin.file.name.string());
      EXPECT_EQ(origin.file.path, folder / "in" / origin.file.name);
    }
    EXPECT_THAT(names, ElementsAre("a/deep/er.png", "a/z.png", "b.PNG"));
  }
}

// The model was trained without normalization.
TEST(ImageRows, WithoutNormalizationAreFractionsOf255) {
  Folder folder;
  Bytes gray = pattern(16);
  std::string file = put(folder / "a.png", png_bytes(gray.data(), {4, 4}, PNG_FORMAT_GRAY));
  SampleSpec spec = spec_of(4, 4, 1), unit = spec;
  spec.normalization = {};
  unit.normalization = {{0.0}, {1.0}};
  EXPECT_THAT(read_inputs({file}, spec, config_of("synthetic")).rows,
              ElementsAre(normalized(gray, unit)));
}

struct BadImage {
  std::string name;
  Bytes bytes;
  std::string message;

  friend std::ostream& operator<<(std::ostream& out, const BadImage& bad) {
    return out << bad.name;
  }
};

Bytes part(Bytes bytes, size_t count) {
  bytes.resize(count);
  return bytes;
}

std::vector<BadImage> bad_images() {
  Bytes png = png_bytes(smooth_image(4, 4));
  Bytes jpeg = jpeg_bytes(smooth_image(40, 40));
  Bytes idx = idx_bytes(0x803, {2, 4, 4}, pattern(32));
  return {{"Words", {'n', 'o'}, "2 bytes are no JPEG, PNG"},
          {"Empty", {}, "0 bytes are no JPEG, PNG"},
          {"TruncatedPng", part(png, png.size() - 20), ""},
          {"TruncatedJpeg", part(jpeg, jpeg.size() / 2), ""},
          {"Labels", idx_bytes(0x801, {3}, pattern(3)), "contains labels, expected images"},
          {"TruncatedIdxHeader", part(idx, 9), "within the IDX header"},
          {"EmptyIdx", idx_bytes(0x803, {0, 4, 4}, {}), "dimension 0 is 0"}};
}

class BadImages : public testing::TestWithParam<BadImage> {};

TEST_P(BadImages, AreNamedOrLeftOut) {
  Folder folder;
  std::string bad = put(folder / "bad.png", GetParam().bytes);
  std::string good = put(folder / "good.png", png_bytes(smooth_image(4, 4)));
  SampleSpec spec = spec_of(4, 4, 3);
  DataConfig config = config_of("cifar10");
  std::string message = message_of(Category::data, [&] { read_inputs({good, bad}, spec, config); });
  EXPECT_THAT(message, StartsWith(bad));
  EXPECT_THAT(message, HasSubstr(GetParam().message));
  ReadInputs read = read_inputs({bad, good}, spec, config, false);
  EXPECT_THAT(read.problems, ElementsAre(message));
  EXPECT_EQ(read.rows, read_inputs({good}, spec, config).rows);
}

INSTANTIATE_TEST_SUITE_P(ImageRows, BadImages, testing::ValuesIn(bad_images()),
                         [](const auto& bad) { return bad.param.name; });

// The images before the end are read. Only a gzip file does not show it by its size.
TEST(ImageRows, ATruncatedIdxFileIsReadUpToThere) {
  Folder folder;
  Bytes whole = idx_bytes(0x803, {3, 4, 4}, pattern(48)), longer = whole;
  longer.push_back(0);
  std::string good = put(folder / "good", whole);
  std::string cut = put(folder / "cut", gzip(part(whole, 16 + 40)));
  std::string tail = put(folder / "tail", longer);
  SampleSpec spec = spec_of(4, 4, 1);
  ReadInputs all = read_inputs({good}, spec, config_of("idx"));
  ReadInputs read = read_inputs({cut, tail, good}, spec, config_of("idx"), false);
  EXPECT_THAT(read.problems,
              ElementsAre(HasSubstr("cut: truncated: ends at byte 56, 64 were announced"),
                          HasSubstr("tail: byte 64: data beyond the announced end")));
  ASSERT_EQ(read.rows.size(), 2u + 2u + 3u);
  for (size_t i : {0, 1}) EXPECT_EQ(read.rows[i], all.rows[i]);
  EXPECT_EQ(read.rows.back(), all.rows.back());
}

TEST(ListInputs, NamesMissingFiles) {
  Folder folder;
  fs::create_directories(folder / "empty/inner");
  std::string good = put(folder / "good.png", png_bytes(smooth_image(4, 4)));
  std::string missing = (folder / "missing.png").string(), empty = (folder / "empty").string();
  SampleSpec spec = spec_of(4, 4, 3);
  ReadInputs read = read_inputs({missing, good, empty}, spec, config_of("idx"), false);
  EXPECT_THAT(
      read.problems,
      ElementsAre(
          missing + ": there is no such file or folder; correct the name",
          empty +
              ": neither it nor its folders contain a .jpg, .jpeg, .jfif, .png, .webp, .bmp, .tif "
              "or .tiff file; name other inputs"));
  EXPECT_EQ(read.rows.size(), 1u);
  EXPECT_EQ(message_of(Category::data,
                       [&] {
                         read_inputs({good, missing}, spec, config_of("idx"));
                       }),
            missing + ": there is no such file or folder; correct the name");
}

// Images outside of classes' folders say nothing, also where they come first.
TEST(ImageRows, AnyFolderOfAClassTellsTheTruth) {
  Folder folder;
  Bytes image = png_bytes(smooth_image(6, 9));
  put(folder / "in/a.png", image);
  put(folder / "in/cat/b.png", image);
  SampleSpec spec = spec_of(6, 9, 3);
  spec.class_names = {"ant", "cat"};
  DataConfig config = config_of("cifar10");
  std::vector<std::string> words = {(folder / "in").string()};
  ReadInputs read = read_inputs(words, spec, config);
  EXPECT_FALSE(read.origins[0].has_truth());
  EXPECT_EQ(read.origins[1].label, 1);
  auto tell_truth = [&] {
    return open_inputs(list_inputs(words, spec, {}), spec, config, {})->names_tell_truth();
  };
  EXPECT_TRUE(tell_truth());
  spec.class_names = {"ant", "dog"};
  EXPECT_FALSE(tell_truth());
}

// The folder itself, a file in it, and a name with dots in it.
TEST(ImageRows, AFolderOfAClassThatTheUserNamesTellsTheTruth) {
  Folder folder;
  put(folder / "in/cat/b.png", png_bytes(smooth_image(6, 9)));
  SampleSpec spec = spec_of(6, 9, 3);
  spec.class_names = {"ant", "cat"};
  for (const char* word : {"in/cat", "in/cat/", "in/cat/b.png", "in/cat/../cat/./b.png"}) {
    ReadInputs read = read_inputs({(folder / word).string()}, spec, config_of("cifar10"));
    ASSERT_EQ(read.origins.size(), 1u) << word;
    EXPECT_EQ(read.origins[0].label, 1) << word;
    EXPECT_EQ(read.origins[0].file.name, "b.png") << word;
  }
}

// A folder that macOS wrote has its letters apart (NFD).
TEST(ImageRows, AFolderOfAClassMayHaveAnotherUnicodeForm) {
  Folder folder;
  put(folder / "in/a\u0308pfel/b.png", png_bytes(smooth_image(6, 9)));
  SampleSpec spec = spec_of(6, 9, 3);
  spec.class_names = {"ant", "\u00e4pfel"};
  ReadInputs read = read_inputs({(folder / "in").string()}, spec, config_of("cifar10"));
  EXPECT_EQ(read.origins.at(0).label, 1);
}

TEST(OpenInputs, RefusesModelsThatReadNeitherImagesNorTables) {
  SampleSpec deep = spec_of(4, 4, 4), tokens;
  tokens.columns = {{"tokens", {8}, DType::i32}};
  std::vector<ListedInput> files = {{"x.png", "x.png"}};
  EXPECT_EQ(message_of(Category::config, [&] { open_inputs(files, deep, {}, {}); }),
            "the model reads images of 4 channels, but images have 1 or 3; give the images in "
            "another format, such as .npy");
  EXPECT_EQ(
      message_of(Category::config, [&] { open_inputs(files, tokens, {}, {}); }),
      "the model reads tokens (8), which are read from .npy, .npz and HDF5 files, but x.png is "
      "none; leave out the inputs to predict for the test data");
}

TEST(ImagesOfADamagedCheckpoint, AreRefusedAsSuch) {
  Folder folder;
  std::string input = (folder / "t.csv").string();
  write_text(input, "1,2\n");
  SampleSpec flat = spec_of(2, 2, 3), other = flat;
  flat.columns[0].shape = {3};
  other.normalization.mean.pop_back();
  for (const SampleSpec& spec : {flat, other})
    EXPECT_THAT(
        message_of(Category::checkpoint, [&] { read_inputs({input}, spec, config_of("csv")); }),
        HasSubstr("the checkpoint is damaged"));
}

}  // namespace
}  // namespace spire
