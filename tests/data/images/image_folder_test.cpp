// Folders of images as datasets: classes, normalization, crops, corrupt files.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/data/images/image_formats.h"
#include "engine/data/images/resized_crop.h"
#include "engine/data/loader.h"
#include "tests/data/images/image_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

void put(const fs::path& path, const Bytes& bytes) {
  fs::create_directories(path.parent_path());
  write_file(path, bytes);
}

// Writes two classes, with three images for training and two for testing.
void write_images(const fs::path& folder) {
  put(folder / "train/cat/b.jpg", jpeg_bytes(smooth_image(60, 80, 1)));
  put(folder / "train/cat/a.PNG", png_bytes(smooth_image(40, 40, 2)));
  put(folder / "train/dog/z.jpeg", jpeg_bytes(smooth_image(300, 200, 3)));
  put(folder / "train/dog/notes.txt", {'n', 'o'});
  put(folder / "val/dog/y.png", png_bytes(smooth_image(33, 57, 4)));
  put(folder / "val/cat/x.jpg", jpeg_bytes(smooth_image(64, 64, 5)));
}

DataConfig config_of(const fs::path& folder, int64_t size = 16) {
  DataConfig config;
  config.name = "image_folder";
  config.path = folder.string();
  config.image.size = size;
  return config;
}

struct Row {
  std::vector<float> image;
  int32_t label = -1;
};

Row row_of(const Dataset& dataset, int64_t sample, int64_t epoch = 0) {
  Row row;
  row.image.resize(static_cast<size_t>(dataset.spec().columns[0].shape.elements()));
  std::vector<std::byte*> columns = {reinterpret_cast<std::byte*>(row.image.data()),
                                     reinterpret_cast<std::byte*>(&row.label)};
  dataset.read({&sample, 1}, epoch, columns);
  return row;
}

// Class names go into checkpoints, whose texts are UTF-8.
TEST(ImageFolder, ClassesWhoseNamesAreNoUtf8AreRefused) {
  TemporaryFolder folder;
  put(folder / "train/Bonn/a.png", png_bytes(smooth_image(40, 40, 2)));
  put(folder / "train/K\xf6ln/a.png", png_bytes(smooth_image(40, 40, 2)));
  put(folder / "val/K\xf6ln/a.png", png_bytes(smooth_image(40, 40, 2)));
  EXPECT_THAT(message_of(Category::data, [&] { open_dataset(config_of(folder.path()), {}); }),
              AllOf(HasSubstr("the class 'K\\xf6ln' is not UTF-8"),
                    HasSubstr("convmv -f latin1 -t utf-8")));
}

TEST(ImageFolder, FoldersThatAreNotReadAreNamed) {
  TemporaryFolder folder;
  write_images(folder.path());
  const char* text = "train: 1 file ignored, being no .jpg";
  EXPECT_THAT(open_dataset(config_of(folder.path()), {}).notes,
              ElementsAre(AllOf(HasSubstr(text), HasSubstr("'dog/notes.txt'"))));
  put(folder / "val/README", {'n', 'o'});
  put(folder / "train/cat/more/c.png", png_bytes(smooth_image(9, 9, 6)));
  put(folder / "val/dog/.hidden/d.png", png_bytes(smooth_image(9, 9, 7)));
  fs::create_directories(folder / "train/eel");
  DatasetPair pair = open_dataset(config_of(folder.path()), {});
  EXPECT_THAT(pair.notes, ElementsAre(HasSubstr("train: no images in 'eel', so it is left out, "
                                                "being no class"),
                                      AllOf(HasSubstr("train: not read"), HasSubstr("'cat/more'")),
                                      HasSubstr(text), HasSubstr("val: 1 file ignored")));
  EXPECT_EQ(pair.train->count(), 3);
}

// As an archive of macOS leaves it, with images' names in it that are hidden.
TEST(ImageFolder, FoldersWithoutImagesAreNoClasses) {
  TemporaryFolder folder;
  write_images(folder.path());
  put(folder / "train/__MACOSX/._a.png", {'n', 'o'});
  put(folder / "val/__MACOSX/._a.png", {'n', 'o'});
  put(folder / "val/deep/er/a.png", png_bytes(smooth_image(9, 9, 6)));
  DatasetPair pair = open_dataset(config_of(folder.path()), {});
  EXPECT_THAT(pair.train->spec().class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(
      pair.notes,
      ElementsAre(HasSubstr("train: no images in '__MACOSX', so it is left out, being no class"),
                  HasSubstr("train: 1 file ignored"),
                  HasSubstr("val: no images in '__MACOSX', 'deep', so they are left out, being no "
                            "classes"),
                  AllOf(HasSubstr("val: not read"), HasSubstr("'deep/er'"))));
}

TEST(ImageFolder, ASingleClassIsConvertedAndNotTrained) {
  TemporaryFolder folder;
  write_images(folder.path());
  fs::remove_all(folder / "train/dog");
  fs::remove_all(folder / "val/dog");
  fs::create_directories(folder / "train/eel");
  EXPECT_THAT(message_of(Category::data, [&] { open_dataset(config_of(folder.path()), {}); }),
              AllOf(HasSubstr("train: all images are of the class 'cat'; put those of other"),
                    HasSubstr("set data.path to the folder of all classes")));
  EXPECT_EQ(open_dataset(config_of(folder.path()), {.stored = true}).train->spec().classes, 1);
}

// macOS writes letters and accents apart (NFD).
TEST(ImageFolder, ClassesAreTheSameInEveryUnicodeForm) {
  TemporaryFolder folder;
  Bytes image = png_bytes(smooth_image(40, 40, 2));
  put(folder / "train/a\u0308pfel/a.png", image);
  put(folder / "train/birnen/a.png", image);
  put(folder / "val/\u00e4pfel/a.png", image);
  DatasetPair pair = open_dataset(config_of(folder.path()), {});
  EXPECT_EQ(row_of(*pair.test, 0).label, 0);
  put(folder / "train/\u00e4pfel/a.png", image);
  EXPECT_THAT(message_of(Category::data, [&] { open_dataset(config_of(folder.path()), {}); }),
              HasSubstr("differ only in Unicode form (NFC and NFD)"));
}

TEST(ImageFolder, ClassesAreTheFoldersInAlphabeticalOrder) {
  TemporaryFolder folder;
  write_images(folder.path());
  DatasetPair pair = open_dataset(config_of(folder.path()), {});
  EXPECT_EQ(pair.train->count(), 3);
  EXPECT_EQ(pair.test->count(), 2);
  const SampleSpec& spec = pair.train->spec();
  EXPECT_THAT(spec.columns, ElementsAre(Column{"images", {16, 16, 3}, DType::f32},
                                        Column{"labels", {}, DType::i32}));
  EXPECT_THAT(spec.class_names, ElementsAre("cat", "dog"));
  EXPECT_EQ(spec.classes, 2);
  EXPECT_THAT(spec.normalization.mean, ElementsAre(0.485, 0.456, 0.406));
  EXPECT_EQ(row_of(*pair.train, 1).label, 0);
  EXPECT_EQ(row_of(*pair.train, 2).label, 1);
  EXPECT_EQ(row_of(*pair.test, 1).label, 1);
  DataConfig usual = config_of(folder.path(), 0);
  EXPECT_EQ(open_dataset(usual, {}).train->spec().columns[0].shape, Shape({224, 224, 3}));
}

// The center crop, resized and normalized step by step.
TEST(ImageFolder, EvaluationReadsTheCenterOfTheImage) {
  TemporaryFolder folder;
  write_images(folder.path());
  DatasetPair pair = open_dataset(config_of(folder.path()), {});
  RgbImage image = smooth_image(33, 57, 4);
  std::vector<uint8_t> expected(16 * 16 * 3);
  ResizeScratch scratch;
  resize(image.pixels, image.size, 3, center_crop(image.size), {16, 16}, expected.data(), scratch);
  Row row = row_of(*pair.test, 1);
  const Normalization& by = pair.test->spec().normalization;
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(row.image[i],
              static_cast<float>((expected[i] / 255.0 - by.mean[i % 3]) / by.stddev[i % 3]));
}

// A JPEG decoded at an eighth of its size is close to the one decoded in full.
TEST(ImageFolder, ReducedDecodingIsClose) {
  TemporaryFolder folder;
  write_images(folder.path());
  RgbImage image = smooth_image(300, 200, 3);
  std::vector<uint8_t> expected(16 * 16 * 3);
  ResizeScratch scratch;
  resize(image.pixels, image.size, 3, center_crop(image.size), {16, 16}, expected.data(), scratch);
  DataConfig config = config_of(folder.path());
  config.normalize = DataConfig::Normalize::unit;
  Row row = row_of(*open_dataset(config, {}).train, 2);
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(row.image[i] * 255, expected[i], 5);
}

TEST(ImageFolder, CorruptImagesAreNamedByFileAndIndex) {
  TemporaryFolder folder;
  write_images(folder.path());
  Bytes whole = jpeg_bytes(smooth_image(60, 80, 1));
  put(folder / "train/cat/b.jpg", Bytes(whole.begin(), whole.begin() + std::ssize(whole) / 2));
  auto problem = [&] {
    DatasetPair pair = open_dataset(config_of(folder.path()), {});
    return message_of(Category::data, [&] { row_of(*pair.train, 1); });
  };
  EXPECT_THAT(problem(),
              AllOf(HasSubstr((folder / "train/cat/b.jpg").string()), HasSubstr("sample 1: JPEG")));
  put(folder / "train/cat/b.jpg", {});
  EXPECT_THAT(problem(), HasSubstr("0 bytes"));
  DatasetPair listed = open_dataset(config_of(folder.path()), {});
  fs::remove(folder / "train/cat/b.jpg");
  EXPECT_THAT(message_of(Category::data, [&] { row_of(*listed.train, 1); }),
              HasSubstr("b.jpg: cannot be read: No such file"));
}

std::string folder_refusal(const fs::path& folder) {
  return message_of(Category::data, [&] { open_dataset(config_of(folder), {}); });
}

TEST(ImageFolder, IncompleteFoldersAreRefused) {
  TemporaryFolder folder;
  EXPECT_THAT(folder_refusal(folder / "none"), HasSubstr("cannot be read"));
  EXPECT_THAT(folder_refusal(folder.path()), HasSubstr("has no folders"));
  fs::create_directories(folder / "train");
  EXPECT_THAT(folder_refusal(folder.path()), HasSubstr("has no folders"));
  fs::create_directories(folder / "train/cat");
  EXPECT_THAT(folder_refusal(folder.path()), HasSubstr("contain no .jpg"));
  put(folder / "train/cat/a.png", png_bytes(smooth_image(4, 4)));
  EXPECT_THAT(folder_refusal(folder.path()), HasSubstr("neither a folder val nor a folder test"));
  put(folder / "test/cow/a.png", png_bytes(smooth_image(4, 4)));
  EXPECT_THAT(folder_refusal(folder.path()), HasSubstr("'cow' is not a class"));
  EXPECT_THAT(message_of(Category::config, [] { open("image_folder", "auto"); }),
              HasSubstr("data.path"));
}

TEST(ImageFolder, LinksToThemselvesAreRefusedByName) {
  TemporaryFolder folder;
  write_images(folder.path());
  fs::create_symlink("c.jpg", folder / "val/cat/c.jpg");
  EXPECT_THAT(folder_refusal(folder.path()),
              AllOf(HasSubstr((folder / "val/cat/c.jpg").string()), HasSubstr("cannot be read")));
  fs::create_symlink("emu", folder / "train/emu");
  EXPECT_THAT(folder_refusal(folder.path()),
              AllOf(HasSubstr((folder / "train/emu").string()), HasSubstr("check data.path")));
}

// Ten cats and four dogs right in the folder: of each class a share is kept for testing.
void write_flat(const fs::path& folder) {
  for (int64_t i = 0; i < 10; ++i)
    put(folder / fmt::format("cat/{}.png", i), png_bytes(smooth_image(8, 8, i)));
  for (int64_t i = 0; i < 4; ++i)
    put(folder / fmt::format("dog/{}.png", i), png_bytes(smooth_image(8, 8, i)));
}

std::vector<std::string> names_of(const Dataset& data) {
  std::vector<std::string> names;
  for (const fs::path& file : data.files())
    names.push_back(file.parent_path().filename().string() + "/" + file.filename().string());
  return names;
}

TEST(ImageFolder, FlatFoldersKeepAShareOfEachClassForTesting) {
  TemporaryFolder folder;
  write_flat(folder.path());
  DataConfig config = config_of(folder.path());
  config.image.test_share = 0.3;
  DatasetPair pair = open_dataset(config, {}), other_seed = open_dataset(config, {.seed = 8});
  std::vector<std::string> train = names_of(*pair.train), test = names_of(*pair.test);
  EXPECT_EQ(std::ranges::count(read_column<int32_t>(*pair.test, 1, {0, 1, 2, 3}), 0), 3);
  EXPECT_EQ(pair.test->count(), 4);  // 3 of 10 cats, 1 of 4 dogs
  EXPECT_EQ(pair.train->count(), 10);
  EXPECT_THAT(pair.train->spec().class_names, ElementsAre("cat", "dog"));
  EXPECT_EQ(names_of(*other_seed.test), test);
  std::set<std::string> all(train.begin(), train.end());
  all.insert(test.begin(), test.end());
  EXPECT_EQ(all.size(), 14u);
  EXPECT_TRUE(std::ranges::is_sorted(train));
}

// As validation samples are.
TEST(ImageFolder, TrainingImagesReadAsTestImagesHaveTheirSize) {
  TemporaryFolder folder;
  write_flat(folder.path());
  DataConfig config = config_of(folder.path());
  config.image.size = 8;
  config.image.eval_size = 12;
  EXPECT_EQ(open_dataset(config, {}).train->spec().columns[0].shape, Shape({8, 8, 3}));
  DatasetPair plain = open_dataset(config, {.plain = true});
  EXPECT_EQ(plain.train->spec().columns[0].shape, Shape({12, 12, 3}));
  EXPECT_EQ(plain.train->spec().columns, plain.test->spec().columns);
}

TEST(ImageFolder, FlatFoldersOfSingleImagesHaveNoTestSet) {
  TemporaryFolder folder;
  for (const char* name : {"cat/a.png", "dog/a.png"})
    put(folder / name, png_bytes(smooth_image(4, 4)));
  EXPECT_THAT(folder_refusal(folder.path()), HasSubstr("no class has two images"));
}

// Gray, transparent and RGB images of different shapes become one shape.
TEST(ImageFolder, ImagesFitTheSquare) {
  TemporaryFolder folder;
  Bytes white(40 * 20 * 3, 255);
  for (const char* split : {"train", "val"})
    put(folder / split / "a/tall.png", png_bytes(white.data(), {40, 20}));
  put(folder / "train/b/tall.png", png_bytes(white.data(), {40, 20}));
  DataConfig config = config_of(folder.path(), 8);
  config.normalize = DataConfig::Normalize::unit;
  auto bright = [&](ImageConfig::Fit fit) {
    config.image.fit = fit;
    return std::ranges::count(row_of(*open_dataset(config, {}).test, 0).image, 1.0f);
  };
  EXPECT_EQ(bright(ImageConfig::Fit::crop), 8 * 8 * 3);
  EXPECT_EQ(bright(ImageConfig::Fit::squash), 8 * 8 * 3);
  EXPECT_EQ(bright(ImageConfig::Fit::pad), 8 * 4 * 3);  // black bars at both sides
}

TEST(ImageFolder, EvaluationsMayReadAnotherSize) {
  TemporaryFolder folder;
  write_images(folder.path());
  DataConfig config = config_of(folder.path(), 16);
  config.image.eval_size = 24;
  DatasetPair pair = open_dataset(config, {});
  EXPECT_EQ(pair.train->spec().columns[0].shape, Shape({16, 16, 3}));
  EXPECT_EQ(pair.test->spec().columns[0].shape, Shape({24, 24, 3}));
  EXPECT_EQ(row_of(*pair.test, 0).image.size(), 24u * 24 * 3);
  EXPECT_EQ(open_dataset(config, {.stored = true}).test->spec().columns[0].shape,
            Shape({16, 16, 3}));
}

// Two files of one image, of which one is stored upside down.
TEST(ImageFolder, ImagesAreReadUpright) {
  TemporaryFolder folder;
  RgbImage image = smooth_image(32, 32, 1), turned{image.size, Bytes(image.pixels.size())};
  for (size_t y = 0; y < 32; ++y)
    for (size_t x = 0; x < 32; ++x)
      for (size_t c = 0; c < 3; ++c)  // as orientation 3 stores it
        turned.pixels[((31 - y) * 32 + 31 - x) * 3 + c] = image.pixels[(y * 32 + x) * 3 + c];
  for (const char* split : {"train", "val"}) {
    put(folder / split / "a/plain.jfif", jpeg_bytes(image));
    put(folder / split / "a/turned.JFIF", jpeg_bytes(turned, {.orientation = 3}));
  }
  put(folder / "train/b/plain.jfif", jpeg_bytes(image));
  DataConfig config = config_of(folder.path());
  config.normalize = DataConfig::Normalize::unit;
  DatasetPair pair = open_dataset(config, {});
  Row plain = row_of(*pair.test, 0), upright = row_of(*pair.test, 1);
  for (size_t i = 0; i < plain.image.size(); ++i)
    ASSERT_NEAR(plain.image[i] * 255, upright.image[i] * 255, 4) << i;
}

TEST(ImageFolder, TheFolderTestReplacesAMissingVal) {
  TemporaryFolder folder;
  write_images(folder.path());
  fs::rename(folder / "val", folder / "test");
  EXPECT_EQ(open_dataset(config_of(folder.path()), {}).test->count(), 2);
}

// Once it has been read, a file must stay one. One that cannot be read, here for a link to itself,
// need not have changed.
TEST(ImageFolder, ImagesThatAreNoFilesAnyMoreEndTheRun) {
  for (bool link : {false, true}) {
    TemporaryFolder folder;
    write_images(folder.path());
    fs::path path = folder / "train/cat/b.jpg";
    DatasetPair pair = open_dataset(config_of(folder.path()), {});
    row_of(*pair.train, 1);
    fs::remove(path);
    link ? fs::create_symlink(path, path) : (void)fs::create_directory(path);
    std::string refused = message_of(Category::data, [&] { row_of(*pair.train, 1); });
    EXPECT_THAT(refused,
                HasSubstr(path.string() + (link ? ": cannot be read" : ": changed while")));
    EXPECT_EQ(refused.find("is not a regular file any more") == std::string::npos, link);
  }
}

}  // namespace
}  // namespace spire
