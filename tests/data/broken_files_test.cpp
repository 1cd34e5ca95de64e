// Damaged dataset files: each is refused with Error(data), exit code 4, by a message that names
// the file, the place and what to do.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/dataset.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr uint32_t images = 0x803, labels = 0x801;

// A valid set of 4 + 2 images of 3 x 2.
void write_valid(const TemporaryFolder& folder) {
  write_file(folder / "train-images-idx3-ubyte", idx_bytes(images, {4, 3, 2}, pattern(24)));
  write_file(folder / "train-labels-idx1-ubyte", idx_bytes(labels, {4}, {0, 1, 2, 1}));
  write_file(folder / "t10k-images-idx3-ubyte", idx_bytes(images, {2, 3, 2}, pattern(12)));
  write_file(folder / "t10k-labels-idx1-ubyte", idx_bytes(labels, {2}, {2, 0}));
}

struct DamagedFile {
  const char* name;
  const char* file;  // the one that is replaced, and that the message names
  std::function<Bytes()> bytes;
  std::vector<const char*> says;
};

Bytes without_tail(const Bytes& bytes, std::ptrdiff_t from_end) {
  return Bytes(bytes.begin(), bytes.end() - from_end);
}

Bytes with_tail(Bytes bytes, const Bytes& tail) {
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  return bytes;
}

Bytes with_flip(Bytes bytes, size_t from_end) {
  bytes[bytes.size() - from_end] ^= 1;
  return bytes;
}

const Bytes valid_images = idx_bytes(images, {4, 3, 2}, pattern(24));
constexpr const char* train_images = "train-images-idx3-ubyte";
constexpr const char* train_labels = "train-labels-idx1-ubyte";
constexpr const char* test_images = "t10k-images-idx3-ubyte";
constexpr const char* test_labels = "t10k-labels-idx1-ubyte";

const std::vector<DamagedFile> broken_files = {
    {"Empty", train_images, [] { return Bytes(); }, {"ends at byte 0", "header", "intact copy"}},
    {"TruncatedDimensions",
     train_images,
     [] { return without_tail(valid_images, 26); },
     {"ends at byte 14", "within the IDX header"}},
    {"TruncatedBody",
     train_images,
     [] { return without_tail(valid_images, 1); },
     {"(4, 3, 2)", "23 bytes", "truncated", "intact copy"}},
    {"TrailingBytes",
     train_images,
     [] { return with_tail(valid_images, {0}); },
     {"byte 40", "beyond the announced end"}},
    {"NotIdx",
     train_images,
     [] { return Bytes{'<', 'h', 't', 'm', 'l', '>'}; },
     {"not an IDX file", "0x3c68746d", "0x00000803"}},
    {"LittleEndian",
     train_images,
     [] {
       return idx_bytes(0x03080000, {4, 3, 2}, pattern(24));
     },
     {"not an IDX file", "0x03080000"}},
    {"FloatElements",
     train_images,
     [] {
       return idx_bytes(0xd03, {4, 3, 2}, pattern(96));
     },
     {"byte 2", "type is 0x0d", "0x08"}},
    {"RankOfFour",
     train_images,
     [] {
       return idx_bytes(0x804, {4, 3, 2, 1}, pattern(24));
     },
     {"byte 3", "4 dimensions", "images have 3"}},
    {"LabelsAsImages",
     train_images,
     [] {
       return idx_bytes(labels, {4}, {0, 1, 2, 1});
     },
     {"contains labels, expected images", "whether the files are swapped"}},
    {"ImagesAsLabels",
     train_labels,
     [] { return valid_images; },
     {"contains images, expected labels", "whether the files are swapped"}},
    {"NoImages",
     train_images,
     [] {
       return idx_bytes(images, {0, 3, 2}, {});
     },
     {"byte 4", "dimension 0 is 0", "has no samples"}},
    {"NoWidth",
     test_images,
     [] {
       return idx_bytes(images, {2, 3, 0}, {});
     },
     {"byte 12", "dimension 2 is 0"}},
    {"NoLabels", test_labels, [] { return idx_bytes(labels, {0}, {}); }, {"has no samples"}},
    {"DimensionsOverflow",
     train_images,
     [] {
       return idx_bytes(images, {0xffffffff, 0xffffffff, 0xffffffff}, pattern(24));
     },
     {"bytes 4-15", "4294967295", "damaged header"}},
    {"DimensionsOfTerabytes",
     train_images,
     [] {
       return idx_bytes(images, {0x01000000, 0x1000, 0x100}, pattern(24));
     },
     {"bytes 4-15", "24 bytes", "damaged header"}},
    {"TerabytesInGzip",
     train_images,
     [] {
       return gzip(idx_bytes(images, {0x01000000, 0x1000, 0x100}, pattern(24)));
     },
     {"bytes 4-15", "damaged header"}},
    {"TruncatedGzip",
     train_images,
     [] { return without_tail(gzip(valid_images), 12); },
     {"gzip", "truncated", "intact copy"}},
    {"WrongGzipChecksum",
     train_images,
     [] { return with_flip(gzip(valid_images), 8); },
     {"gzip", "incorrect data check"}},
    {"WrongGzipLength",
     train_images,
     [] { return with_flip(gzip(valid_images), 4); },
     {"gzip", "incorrect length check"}},
    {"TrailingAfterGzip",
     train_images,
     [] { return with_tail(gzip(valid_images), pattern(9)); },
     {"gzip", "follow its end"}},
    {"TruncatedInsideGzip",
     train_images,
     [] { return gzip(without_tail(valid_images, 3)); },
     {"ends at byte 37", "40 were announced"}},
    {"TrailingInsideGzip",
     train_images,
     [] {
       return gzip(with_tail(valid_images, {1, 2}));
     },
     {"byte 40", "beyond the announced end"}},
    {"FewerLabels",
     train_labels,
     [] {
       return idx_bytes(labels, {3}, {0, 1, 2});
     },
     {train_images, "4 images", "3 labels"}},
    {"MoreLabels",
     test_labels,
     [] {
       return idx_bytes(labels, {3}, {0, 1, 2});
     },
     {test_images, "2 images", "3 labels"}},
    {"TestLabelOfNoClass",
     test_labels,
     [] {
       return idx_bytes(labels, {2}, {2, 3});
     },
     {"byte 9", "label 3 of sample 1", "0 to 2"}},
};

class BrokenFile : public testing::TestWithParam<DamagedFile> {};

TEST_P(BrokenFile, IsRefusedWithItsMessage) {
  TemporaryFolder folder;
  write_valid(folder);
  write_file(folder / GetParam().file, GetParam().bytes());
  std::string message = message_of(Category::data, [&] { open("idx", folder.path().string()); });
  EXPECT_THAT(message, HasSubstr((folder / GetParam().file).string()));
  for (const char* part : GetParam().says) EXPECT_THAT(message, HasSubstr(part));
}

INSTANTIATE_TEST_SUITE_P(All, BrokenFile, testing::ValuesIn(broken_files),
                         [](const auto& one) { return one.param.name; });

std::string refusal(const TemporaryFolder& folder, const char* name = "idx") {
  return message_of(Category::data, [&] { open(name, folder.path().string()); });
}

TEST(BrokenFolder, FashionMnistHasTenClasses) {
  TemporaryFolder folder;
  write_valid(folder);
  write_file(folder / train_labels, idx_bytes(labels, {4}, {0, 9, 10, 1}));
  EXPECT_THAT(refusal(folder, "fashion_mnist"),
              AllOf(HasSubstr("byte 10"), HasSubstr("label 10 of sample 2"), HasSubstr("0 to 9")));
}

TEST(BrokenFolder, TrainAndTestImagesOfDifferentSize) {
  TemporaryFolder folder;
  write_valid(folder);
  write_file(folder / test_images, idx_bytes(images, {2, 2, 3}, pattern(12)));
  EXPECT_THAT(refusal(folder),
              AllOf(HasSubstr("3 x 2"), HasSubstr("2 x 3"), HasSubstr(folder.path().string())));
}

TEST(BrokenFolder, ConstantPixels) {
  TemporaryFolder folder;
  write_valid(folder);
  write_file(folder / train_images, idx_bytes(images, {4, 3, 2}, Bytes(24, 8)));
  EXPECT_THAT(refusal(folder), HasSubstr("all pixels of channel 0 are 8"));
}

TEST(BrokenFolder, MissingFolder) {
  TemporaryFolder folder;
  std::string path = (folder / "nowhere").string();
  EXPECT_THAT(message_of(Category::data, [&] { open("fashion_mnist", path); }),
              AllOf(HasSubstr(path), HasSubstr("no such file")));
}

TEST(BrokenFolder, FileInThePlaceOfTheFolder) {
  TemporaryFolder folder;
  write_file(folder / "file", {1});
  std::string path = (folder / "file").string();
  EXPECT_THAT(message_of(Category::data, [&] { open("idx", path); }),
              AllOf(HasSubstr(path), HasSubstr("is not a folder")));
}

// A small file that takes gigabytes of memory is refused before it does, whatever reads it.
TEST(BrokenGzip, ThatUnpacksToFarMoreThanItsSize) {
  TemporaryFolder folder;
  write_file(folder / "a.gz", packed(size_t{300} << 20, 'a', gzip_format));
  write_file(folder / "lines.csv.gz", packed(size_t{300} << 20, '\n', gzip_format));
  auto expect_refused = [](const std::string& message) {
    EXPECT_THAT(message, AllOf(HasSubstr(".gz: "), HasSubstr("unpack to over 268435456"),
                               HasSubstr("unpack it with gunzip")));
  };
  DataConfig text;
  text.name = "tokens";
  text.tokens.text = {(folder / "a.gz").string()};
  text.tokens.vocabulary = TokensConfig::Vocabulary::bytes;
  expect_refused(message_of(Category::data, [&] { open_dataset(text, {}); }));
  expect_refused(
      message_of(Category::data, [&] { open("csv", (folder / "lines.csv.gz").string()); }));
}

// Up to 256 MiB any ratio will do: labels of one class, say.
TEST(BrokenGzip, SmallContentsMayBePackedAsTheyAre) {
  TemporaryFolder folder;
  write_file(folder / "a.gz", packed(1 << 20, 'a', gzip_format));
  DataConfig text;
  text.name = "tokens";
  text.tokens.text = {(folder / "a.gz").string()};
  text.tokens.vocabulary = TokensConfig::Vocabulary::bytes;
  EXPECT_GT(open_dataset(text, {}).train->count(), 1000);
}

}  // namespace
}  // namespace spire
