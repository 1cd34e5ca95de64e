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

using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

// Writes two classes, with three images for training and two for testing.
void write_images(const fs::path& folder) {
  write_file(folder / "train/cat/b.jpg", jpeg_bytes(smooth_image(60, 80, 1)));
  write_file(folder / "train/cat/a.PNG", png_bytes(smooth_image(40, 40, 2)));
  write_file(folder / "train/dog/z.jpeg", jpeg_bytes(smooth_image(300, 200, 3)));
  write_file(folder / "train/dog/notes.txt", {'n', 'o'});
  write_file(folder / "val/dog/y.png", png_bytes(smooth_image(33, 57, 4)));
  write_file(folder / "val/cat/x.jpg", jpeg_bytes(smooth_image(64, 64, 5)));
}

DataConfig config_of(const fs::path& folder, int64_t size = 16) {
  DataConfig config = data_at("image_folder", folder);
  config.image.size = size;
  return config;
}

class ImageFolder : public FolderTest {};

// Class names go into checkpoints, whose texts are UTF-8.
TEST_F(ImageFolder, ClassesWhoseNamesAreNoUtf8AreRefused) {
  write_file(folder_ / "train/Bonn/a.png", png_bytes(smooth_image(40, 40, 2)));
  write_file(folder_ / "train/K\xf6ln/a.png", png_bytes(smooth_image(40, 40, 2)));
  write_file(folder_ / "val/K\xf6ln/a.png", png_bytes(smooth_image(40, 40, 2)));
  EXPECT_THAT(open_refusal(config_of(folder_.path())),
              HasAll("the class 'K\\xf6ln' is not UTF-8", "convmv -f latin1 -t utf-8"));
}

TEST_F(ImageFolder, FoldersThatAreNotReadAreNamed) {
  write_images(folder_.path());
  const char* text = "train: 1 file ignored, being no .jpg";
  EXPECT_THAT(open_dataset(config_of(folder_.path()), {}).notes,
              ElementsAre(HasAll(text, "'dog/notes.txt'")));
  write_file(folder_ / "val/README", {'n', 'o'});
  write_file(folder_ / "train/cat/more/c.png", png_bytes(smooth_image(9, 9, 6)));
  write_file(folder_ / "val/dog/.hidden/d.png", png_bytes(smooth_image(9, 9, 7)));
  fs::create_directories(folder_ / "train/eel");
  DatasetPair pair = open_dataset(config_of(folder_.path()), {});
  EXPECT_THAT(pair.notes, ElementsAre(HasSubstr("train: no images in 'eel', so it is left out, "
                                                "being no class"),
                                      HasAll("train: not read", "'cat/more'"), HasSubstr(text),
                                      HasSubstr("val: 1 file ignored")));
  EXPECT_EQ(pair.train->count(), 3);
}

// As an archive of macOS leaves it, with images' names in it that are hidden.
TEST_F(ImageFolder, FoldersWithoutImagesAreNoClasses) {
  write_images(folder_.path());
  write_file(folder_ / "train/__MACOSX/._a.png", {'n', 'o'});
  write_file(folder_ / "val/__MACOSX/._a.png", {'n', 'o'});
  write_file(folder_ / "val/deep/er/a.png", png_bytes(smooth_image(9, 9, 6)));
  DatasetPair pair = open_dataset(config_of(folder_.path()), {});
  EXPECT_THAT(pair.train->spec().class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(
      pair.notes,
      ElementsAre(HasSubstr("train: no images in '__MACOSX', so it is left out, being no class"),
                  HasSubstr("train: 1 file ignored"),
                  HasSubstr("val: no images in '__MACOSX', 'deep', so they are left out, being no "
                            "classes"),
                  HasAll("val: not read", "'deep/er'")));
}

TEST_F(ImageFolder, ASingleClassIsConvertedAndNotTrained) {
  write_images(folder_.path());
  fs::remove_all(folder_ / "train/dog");
  fs::remove_all(folder_ / "val/dog");
  fs::create_directories(folder_ / "train/eel");
  EXPECT_THAT(open_refusal(config_of(folder_.path())),
              HasAll("train: all images are of the class 'cat'; put those of other",
                     "set data.path to the folder of all classes"));
  EXPECT_EQ(open_dataset(config_of(folder_.path()), {.as_stored = true}).train->spec().classes, 1);
}

// macOS writes letters and accents apart (NFD).
TEST_F(ImageFolder, ClassesAreTheSameInEveryUnicodeForm) {
  Bytes image = png_bytes(smooth_image(40, 40, 2));
  write_file(folder_ / "train/a\u0308pfel/a.png", image);
  write_file(folder_ / "train/birnen/a.png", image);
  write_file(folder_ / "val/\u00e4pfel/a.png", image);
  DatasetPair pair = open_dataset(config_of(folder_.path()), {});
  EXPECT_EQ(read_column<int32_t>(*pair.test, 1, {0})[0], 0);
  write_file(folder_ / "train/\u00e4pfel/a.png", image);
  EXPECT_THAT(open_refusal(config_of(folder_.path())),
              HasSubstr("differ only in Unicode form (NFC and NFD)"));
}

TEST_F(ImageFolder, ClassesAreTheFoldersInAlphabeticalOrder) {
  write_images(folder_.path());
  DatasetPair pair = open_dataset(config_of(folder_.path()), {});
  EXPECT_EQ(pair.train->count(), 3);
  EXPECT_EQ(pair.test->count(), 2);
  const SampleSpec& spec = pair.train->spec();
  EXPECT_THAT(spec.columns, ElementsAre(Column{"images", {16, 16, 3}, DType::f32},
                                        Column{"labels", {}, DType::i32}));
  EXPECT_THAT(spec.class_names, ElementsAre("cat", "dog"));
  EXPECT_EQ(spec.classes, 2);
  EXPECT_THAT(spec.normalization.mean, ElementsAre(0.485, 0.456, 0.406));
  EXPECT_EQ(read_column<int32_t>(*pair.train, 1, {1})[0], 0);
  EXPECT_EQ(read_column<int32_t>(*pair.train, 1, {2})[0], 1);
  EXPECT_EQ(read_column<int32_t>(*pair.test, 1, {1})[0], 1);
  DataConfig usual = config_of(folder_.path(), 0);
  EXPECT_EQ(open_dataset(usual, {}).train->spec().columns[0].shape, Shape({224, 224, 3}));
}

// The center crop, resized and normalized step by step.
TEST_F(ImageFolder, EvaluationReadsTheCenterOfTheImage) {
  write_images(folder_.path());
  DatasetPair pair = open_dataset(config_of(folder_.path()), {});
  RgbImage image = smooth_image(33, 57, 4);
  std::vector<uint8_t> expected(16 * 16 * 3);
  ResizeScratch scratch;
  resize(image.pixels, image.size, 3, center_crop(image.size), {16, 16}, expected.data(), scratch);
  std::vector<float> row = read_column<float>(*pair.test, 0, {1});
  const Normalization& by = pair.test->spec().normalization;
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(row[i],
              static_cast<float>((expected[i] / 255.0 - by.mean[i % 3]) / by.stddev[i % 3]));
}

// A JPEG decoded at an eighth of its size is close to the one decoded in full.
TEST_F(ImageFolder, ReducedDecodingIsClose) {
  write_images(folder_.path());
  RgbImage image = smooth_image(300, 200, 3);
  std::vector<uint8_t> expected(16 * 16 * 3);
  ResizeScratch scratch;
  resize(image.pixels, image.size, 3, center_crop(image.size), {16, 16}, expected.data(), scratch);
  DataConfig config = config_of(folder_.path());
  config.normalize = DataConfig::Normalize::unit;
  std::vector<float> row = read_column<float>(*open_dataset(config, {}).train, 0, {2});
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(row[i] * 255, expected[i], 5);
}

TEST_F(ImageFolder, CorruptImagesAreNamedByFileAndIndex) {
  write_images(folder_.path());
  Bytes whole = jpeg_bytes(smooth_image(60, 80, 1));
  write_file(folder_ / "train/cat/b.jpg",
             Bytes(whole.begin(), whole.begin() + std::ssize(whole) / 2));
  auto problem = [&] {
    DatasetPair pair = open_dataset(config_of(folder_.path()), {});
    return message_of(Category::data, [&] { read_column<float>(*pair.train, 0, {1}); });
  };
  EXPECT_THAT(problem(), HasAll((folder_ / "train/cat/b.jpg").string(), "sample 1: JPEG"));
  write_file(folder_ / "train/cat/b.jpg", {});
  EXPECT_THAT(problem(), HasSubstr("0 bytes"));
  DatasetPair listed = open_dataset(config_of(folder_.path()), {});
  fs::remove(folder_ / "train/cat/b.jpg");
  EXPECT_THAT(message_of(Category::data, [&] { read_column<float>(*listed.train, 0, {1}); }),
              HasSubstr("b.jpg: cannot be read: No such file"));
}

TEST_F(ImageFolder, IncompleteFoldersAreRefused) {
  EXPECT_THAT(open_refusal(config_of(folder_ / "none")), HasSubstr("cannot be read"));
  EXPECT_THAT(open_refusal(config_of(folder_.path())), HasSubstr("has no folders"));
  fs::create_directories(folder_ / "train");
  EXPECT_THAT(open_refusal(config_of(folder_.path())), HasSubstr("has no folders"));
  fs::create_directories(folder_ / "train/cat");
  EXPECT_THAT(open_refusal(config_of(folder_.path())), HasSubstr("contain no .jpg"));
  write_file(folder_ / "train/cat/a.png", png_bytes(smooth_image(4, 4)));
  EXPECT_THAT(open_refusal(config_of(folder_.path())),
              HasSubstr("neither a folder val nor a folder test"));
  write_file(folder_ / "test/cow/a.png", png_bytes(smooth_image(4, 4)));
  EXPECT_THAT(open_refusal(config_of(folder_.path())), HasSubstr("'cow' is not a class"));
}

TEST_F(ImageFolder, LinksToThemselvesAreRefusedByName) {
  write_images(folder_.path());
  fs::create_symlink("c.jpg", folder_ / "val/cat/c.jpg");
  EXPECT_THAT(open_refusal(config_of(folder_.path())),
              HasAll((folder_ / "val/cat/c.jpg").string(), "cannot be read"));
  fs::create_symlink("emu", folder_ / "train/emu");
  EXPECT_THAT(open_refusal(config_of(folder_.path())),
              HasAll((folder_ / "train/emu").string(), "check data.path"));
}

// Ten cats and four dogs right in the folder: of each class a share is kept for testing.
void write_flat(const fs::path& folder) {
  for (int64_t i = 0; i < 10; ++i)
    write_file(folder / fmt::format("cat/{}.png", i), png_bytes(smooth_image(8, 8, i)));
  for (int64_t i = 0; i < 4; ++i)
    write_file(folder / fmt::format("dog/{}.png", i), png_bytes(smooth_image(8, 8, i)));
}

std::vector<std::string> names_of(const Dataset& data) {
  std::vector<std::string> names;
  for (const fs::path& file : data.files())
    names.push_back(file.parent_path().filename().string() + "/" + file.filename().string());
  return names;
}

TEST_F(ImageFolder, FlatFoldersKeepAShareOfEachClassForTesting) {
  write_flat(folder_.path());
  DataConfig config = config_of(folder_.path());
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

TEST_F(ImageFolder, FlatFoldersOfSingleImagesHaveNoTestSet) {
  for (const char* name : {"cat/a.png", "dog/a.png"})
    write_file(folder_ / name, png_bytes(smooth_image(4, 4)));
  EXPECT_THAT(open_refusal(config_of(folder_.path())), HasSubstr("no class has two images"));
}

// Gray, transparent and RGB images of different shapes become one shape.
TEST_F(ImageFolder, ImagesFitTheSquare) {
  Bytes white(40 * 20 * 3, 255);
  for (const char* split : {"train", "val"})
    write_file(folder_ / split / "a/tall.png", png_bytes(white.data(), {40, 20}));
  write_file(folder_ / "train/b/tall.png", png_bytes(white.data(), {40, 20}));
  DataConfig config = config_of(folder_.path(), 8);
  config.normalize = DataConfig::Normalize::unit;
  auto bright = [&](ImageConfig::Fit fit) {
    config.image.fit = fit;
    return std::ranges::count(read_column<float>(*open_dataset(config, {}).test, 0, {0}), 1.0f);
  };
  EXPECT_EQ(bright(ImageConfig::Fit::crop), 8 * 8 * 3);
  EXPECT_EQ(bright(ImageConfig::Fit::squash), 8 * 8 * 3);
  EXPECT_EQ(bright(ImageConfig::Fit::pad), 8 * 4 * 3);  // black bars at both sides
}

TEST_F(ImageFolder, EvaluationsMayReadAnotherSize) {
  write_images(folder_.path());
  DataConfig config = config_of(folder_.path(), 16);
  config.image.eval_size = 24;
  DatasetPair pair = open_dataset(config, {});
  EXPECT_EQ(pair.train->spec().columns[0].shape, Shape({16, 16, 3}));
  EXPECT_EQ(pair.test->spec().columns[0].shape, Shape({24, 24, 3}));
  EXPECT_EQ(read_column<float>(*pair.test, 0, {0}).size(), 24u * 24 * 3);
  EXPECT_EQ(open_dataset(config, {.as_stored = true}).test->spec().columns[0].shape,
            Shape({16, 16, 3}));
  // As validation samples are read.
  EXPECT_EQ(open_dataset(config, {.as_evaluation = true}).train->spec().columns,
            pair.test->spec().columns);
}

// Two files of one image, of which one is stored upside down.
TEST_F(ImageFolder, ImagesAreReadUpright) {
  RgbImage image = smooth_image(32, 32, 1), turned{image.size, Bytes(image.pixels.size())};
  for (size_t y = 0; y < 32; ++y)
    for (size_t x = 0; x < 32; ++x)
      for (size_t c = 0; c < 3; ++c)  // as orientation 3 stores it
        turned.pixels[((31 - y) * 32 + 31 - x) * 3 + c] = image.pixels[(y * 32 + x) * 3 + c];
  for (const char* split : {"train", "val"}) {
    write_file(folder_ / split / "a/plain.jfif", jpeg_bytes(image));
    write_file(folder_ / split / "a/turned.JFIF", jpeg_bytes(turned, {.orientation = 3}));
  }
  write_file(folder_ / "train/b/plain.jfif", jpeg_bytes(image));
  DataConfig config = config_of(folder_.path());
  config.normalize = DataConfig::Normalize::unit;
  DatasetPair pair = open_dataset(config, {});
  std::vector<float> plain = read_column<float>(*pair.test, 0, {0}),
                     upright = read_column<float>(*pair.test, 0, {1});
  for (size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(plain[i] * 255, upright[i] * 255, 4) << i;
}

// Once it has been read, a file must stay one. One that cannot be read, here for a link to itself,
// need not have changed.
TEST_F(ImageFolder, ImagesThatAreNoFilesAnyMoreEndTheRun) {
  for (bool link : {false, true}) {
    Folder folder;
    write_images(folder.path());
    fs::path path = folder / "train/cat/b.jpg";
    DatasetPair pair = open_dataset(config_of(folder.path()), {});
    read_column<float>(*pair.train, 0, {1});
    fs::remove(path);
    link ? fs::create_symlink(path, path) : (void)fs::create_directory(path);
    std::string refused =
        message_of(Category::data, [&] { read_column<float>(*pair.train, 0, {1}); });
    EXPECT_THAT(refused,
                HasSubstr(path.string() + (link ? ": cannot be read" : ": changed while")));
    EXPECT_EQ(refused.find("is not a regular file any more") == std::string::npos, link);
  }
}

}  // namespace
}  // namespace spire
