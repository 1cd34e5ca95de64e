// Damaged dataset files: each is refused with Error(data), exit code 4, by a message that names
// the file, the place and what to do.
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
void write_valid(const Folder& folder) {
  write_file(folder / "train-images-idx3-ubyte", idx_bytes(images, {4, 3, 2}, pattern(24)));
  write_file(folder / "train-labels-idx1-ubyte", idx_bytes(labels, {4}, {0, 1, 2, 1}));
  write_file(folder / "t10k-images-idx3-ubyte", idx_bytes(images, {2, 3, 2}, pattern(12)));
  write_file(folder / "t10k-labels-idx1-ubyte", idx_bytes(labels, {2}, {2, 0}));
}

struct DamagedFile {
  const char* file;  // the one that is replaced, and that the message names
  Bytes bytes;
  testing::Matcher<std::string> says;
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

std::vector<DamagedFile> broken_files() {
  return {
      {train_images, Bytes(), HasAll("ends at byte 0", "header", "intact copy")},
      {train_images, without_tail(valid_images, 26),
       HasAll("ends at byte 14", "within the IDX header")},
      {train_images, without_tail(valid_images, 1),
       HasAll("(4, 3, 2)", "23 bytes", "truncated", "intact copy")},
      {train_images, with_tail(valid_images, {0}), HasAll("byte 40", "beyond the announced end")},
      {train_images, Bytes{'<', 'h', 't', 'm', 'l', '>'},
       HasAll("not an IDX file", "0x3c68746d", "0x00000803")},
      {train_images, idx_bytes(0x03080000, {4, 3, 2}, pattern(24)),
       HasAll("not an IDX file", "0x03080000")},
      {train_images, idx_bytes(0xd03, {4, 3, 2}, pattern(96)),
       HasAll("byte 2", "type is 0x0d", "0x08")},
      {train_images, idx_bytes(0x804, {4, 3, 2, 1}, pattern(24)),
       HasAll("byte 3", "4 dimensions", "images have 3")},
      {train_images, idx_bytes(labels, {4}, {0, 1, 2, 1}),
       HasAll("contains labels, expected images", "whether the files are swapped")},
      {train_labels, valid_images,
       HasAll("contains images, expected labels", "whether the files are swapped")},
      {train_images, idx_bytes(images, {0, 3, 2}, {}),
       HasAll("byte 4", "dimension 0 is 0", "has no samples")},
      {test_images, idx_bytes(images, {2, 3, 0}, {}), HasAll("byte 12", "dimension 2 is 0")},
      {test_labels, idx_bytes(labels, {0}, {}), HasAll("has no samples")},
      {train_images, idx_bytes(images, {0xffffffff, 0xffffffff, 0xffffffff}, pattern(24)),
       HasAll("bytes 4-15", "4294967295", "damaged header")},
      {train_images, idx_bytes(images, {0x01000000, 0x1000, 0x100}, pattern(24)),
       HasAll("bytes 4-15", "24 bytes", "damaged header")},
      {train_images, gzip(idx_bytes(images, {0x01000000, 0x1000, 0x100}, pattern(24))),
       HasAll("bytes 4-15", "damaged header")},
      {train_images, without_tail(gzip(valid_images), 12),
       HasAll("gzip", "truncated", "intact copy")},
      {train_images, with_flip(gzip(valid_images), 8), HasAll("gzip", "incorrect data check")},
      {train_images, with_flip(gzip(valid_images), 4), HasAll("gzip", "incorrect length check")},
      {train_images, with_tail(gzip(valid_images), pattern(9)), HasAll("gzip", "follow its end")},
      {train_images, gzip(without_tail(valid_images, 3)),
       HasAll("ends at byte 37", "40 were announced")},
      {train_images, gzip(with_tail(valid_images, {1, 2})),
       HasAll("byte 40", "beyond the announced end")},
      {train_labels, idx_bytes(labels, {3}, {0, 1, 2}),
       HasAll(train_images, "4 images", "3 labels")},
      {test_labels, idx_bytes(labels, {3}, {0, 1, 2}), HasAll(test_images, "2 images", "3 labels")},
      {test_labels, idx_bytes(labels, {2}, {2, 3}),
       HasAll("byte 9", "label 3 of sample 1", "0 to 2")},
  };
}

TEST(BrokenFile, IsRefusedWithItsMessage) {
  for (const DamagedFile& one : broken_files()) {
    Folder folder;
    write_valid(folder);
    write_file(folder / one.file, one.bytes);
    EXPECT_THAT(open_refusal(data_at("idx", folder.path())),
                AllOf(HasSubstr((folder / one.file).string()), one.says));
  }
}

std::string refusal(const Folder& folder, const char* name = "idx") {
  return open_refusal(data_at(name, folder.path()));
}

class BrokenFolder : public FolderTest {};

TEST_F(BrokenFolder, FashionMnistHasTenClasses) {
  write_valid(folder_);
  write_file(folder_ / train_labels, idx_bytes(labels, {4}, {0, 9, 10, 1}));
  EXPECT_THAT(refusal(folder_, "fashion_mnist"),
              HasAll("byte 10", "label 10 of sample 2", "0 to 9"));
}

TEST_F(BrokenFolder, TrainAndTestImagesOfDifferentSize) {
  write_valid(folder_);
  write_file(folder_ / test_images, idx_bytes(images, {2, 2, 3}, pattern(12)));
  EXPECT_THAT(refusal(folder_), HasAll("3 x 2", "2 x 3", folder_.path().string()));
}

TEST_F(BrokenFolder, ConstantPixels) {
  write_valid(folder_);
  write_file(folder_ / train_images, idx_bytes(images, {4, 3, 2}, Bytes(24, 8)));
  EXPECT_THAT(refusal(folder_), HasSubstr("all pixels of channel 0 are 8"));
}

TEST_F(BrokenFolder, MissingFolder) {
  std::string path = (folder_ / "nowhere").string();
  EXPECT_THAT(open_refusal(data_at("fashion_mnist", path)), HasAll(path, "no such file"));
}

TEST_F(BrokenFolder, FileInThePlaceOfTheFolder) {
  write_file(folder_ / "file", {1});
  std::string path = (folder_ / "file").string();
  EXPECT_THAT(open_refusal(data_at("idx", path)), HasAll(path, "is not a folder"));
}

// A small file that takes gigabytes of memory is refused before it does, whatever reads it.
TEST(BrokenGzip, ThatUnpacksToFarMoreThanItsSize) {
  Folder folder;
  write_file(folder / "a.gz", packed(size_t{300} << 20, 'a', gzip_format));
  write_file(folder / "lines.csv.gz", packed(size_t{300} << 20, '\n', gzip_format));
  auto expect_refused = [](const std::string& message) {
    EXPECT_THAT(message, HasAll(".gz: ", "unpack to over 268435456", "unpack it with gunzip"));
  };
  DataConfig text;
  text.name = "tokens";
  text.tokens.text = {(folder / "a.gz").string()};
  text.tokens.vocabulary = TokensConfig::Vocabulary::bytes;
  expect_refused(open_refusal(text));
  expect_refused(open_refusal(data_at("csv", folder / "lines.csv.gz")));
}

// Up to 256 MiB any ratio will do: labels of one class, say.
TEST(BrokenGzip, SmallContentsMayBePackedAsTheyAre) {
  Folder folder;
  write_file(folder / "a.gz", packed(1 << 20, 'a', gzip_format));
  DataConfig text;
  text.name = "tokens";
  text.tokens.text = {(folder / "a.gz").string()};
  text.tokens.vocabulary = TokensConfig::Vocabulary::bytes;
  EXPECT_GT(open_dataset(text, {}).train->count(), 1000);
}

}  // namespace
}  // namespace spire
