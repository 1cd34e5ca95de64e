// IDX files: plain, gzip, damaged.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/formats/labelled_files.h"
#include "engine/data/input_file.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Idx, ReadsPlainImages) {
  TemporaryFolder folder;
  Bytes body = pattern(2 * 3 * 4);
  write_file(folder / "images", idx_bytes(0x803, {2, 3, 4}, body));
  IdxFile idx = read_idx_images(folder / "images");
  EXPECT_THAT(idx.dims, ElementsAre(2, 3, 4));
  EXPECT_EQ(idx.values, body);
  EXPECT_EQ(idx.path, folder / "images");
}

TEST(Idx, ReadsPlainLabels) {
  TemporaryFolder folder;
  write_file(folder / "labels", idx_bytes(0x801, {5}, {9, 0, 1, 255, 3}));
  IdxFile idx = read_idx_labels(folder / "labels");
  EXPECT_THAT(idx.dims, ElementsAre(5));
  EXPECT_THAT(idx.values, ElementsAre(9, 0, 1, 255, 3));
}

// Longer than any internal buffer, so that file and content are read in many parts.
TEST(Idx, ReadsFilesOfManyBuffers) {
  TemporaryFolder folder;
  std::mt19937 random(1);
  Bytes body(3000 * 20 * 20);
  for (uint8_t& value : body) value = static_cast<uint8_t>(random());
  Bytes file = idx_bytes(0x803, {3000, 20, 20}, body);
  write_file(folder / "plain", file);
  write_file(folder / "zipped", gzip(file));
  EXPECT_EQ(read_idx_images(folder / "plain").values, body);
  EXPECT_EQ(read_idx_images(folder / "zipped").values, body);
}

TEST(Idx, ReadsImagesOneAfterAnother) {
  TemporaryFolder folder;
  Bytes body = pattern(50 * 7 * 9);
  write_file(folder / "images", gzip(idx_bytes(0x803, {50, 7, 9}, body)));
  IdxImages images(folder / "images");
  EXPECT_EQ(images.count(), 50);
  EXPECT_EQ(images.height(), 7);
  EXPECT_EQ(images.width(), 9);
  Bytes all, image(7 * 9);
  while (images.next(image)) all.insert(all.end(), image.begin(), image.end());
  EXPECT_EQ(all, body);
  EXPECT_FALSE(images.next(image));
}

TEST(Idx, DetectsGzipByContentNotByName) {
  TemporaryFolder folder;
  Bytes file = idx_bytes(0x801, {3}, {1, 2, 3});
  write_file(folder / "zipped", gzip(file));
  write_file(folder / "plain.gz", file);
  EXPECT_THAT(read_idx_labels(folder / "zipped").values, ElementsAre(1, 2, 3));
  EXPECT_THAT(read_idx_labels(folder / "plain.gz").values, ElementsAre(1, 2, 3));
}

TEST(Idx, TriesTheNameWithAndWithoutGz) {
  TemporaryFolder folder;
  write_file(folder / "a.gz", gzip(idx_bytes(0x801, {1}, {4})));
  write_file(folder / "b", idx_bytes(0x801, {1}, {5}));
  EXPECT_THAT(read_idx_labels(folder / "a").values, ElementsAre(4));
  EXPECT_THAT(read_idx_labels(folder / "b.gz").values, ElementsAre(5));
  EXPECT_EQ(find_input(folder / "a"), folder / "a.gz");
  EXPECT_EQ(find_input(folder / "b.gz"), folder / "b");
  EXPECT_TRUE(find_input(folder / "c").empty());
}

// RFC 1952: the content is the concatenation of all members.
TEST(Idx, ReadsConcatenatedGzipMembers) {
  TemporaryFolder folder;
  Bytes file = idx_bytes(0x801, {6}, {1, 2, 3, 4, 5, 6});
  Bytes zipped = gzip(Bytes(file.begin(), file.begin() + 10));
  Bytes rest = gzip(Bytes(file.begin() + 10, file.end()));
  zipped.insert(zipped.end(), rest.begin(), rest.end());
  write_file(folder / "labels", zipped);
  EXPECT_THAT(read_idx_labels(folder / "labels").values, ElementsAre(1, 2, 3, 4, 5, 6));
}

// Flips bits of a valid file, or truncates it. It must be read as an array of the announced size or
// be refused with Error(data). (tests/fuzz does this to plain files.)
TEST(Idx, DamagedGzipFilesNeverCrashNorPassUnnoticed) {
  Bytes content = pattern(3 * 5 * 4), file = gzip(idx_bytes(0x803, {3, 5, 4}, content));
  TemporaryFolder folder;
  std::mt19937 random(12);
  int read = 0, refused = 0;
  for (int i = 0; i < 600; ++i) {
    Bytes damaged = file;
    if (i % 3 == 0) damaged.resize(random() % damaged.size());
    if (i % 3 != 0 || random() % 2 == 0)
      for (uint32_t flips = 1 + random() % 3; flips > 0 && !damaged.empty(); --flips)
        damaged[random() % damaged.size()] ^= static_cast<uint8_t>(1u << random() % 8);
    write_file(folder / "file", damaged);
    try {
      IdxFile idx = read_idx_images(folder / "file");
      ++read;
      ASSERT_EQ(static_cast<int64_t>(idx.values.size()), idx.dims[0] * idx.dims[1] * idx.dims[2]);
      ASSERT_EQ(idx.values, content) << "damage " << i << " went unnoticed";
    } catch (const Error& error) {
      ++refused;
      ASSERT_EQ(error.category(), Category::data) << error.what();
      ASSERT_NE(std::string(error.what()).find((folder / "file").string()), std::string::npos);
    }
  }
  EXPECT_EQ(read + refused, 600);
  EXPECT_GT(refused, 200);  // all truncated ones at least
}

// Files that are read once, when a run starts.
TEST(InputFile, EndsTheRunWhereItsFileChanges) {
  TemporaryFolder folder;
  for (bool longer : {false, true}) {
    write_file(folder / "a", Bytes(1 << 20, 'a'));
    InputFile file(folder / "a");
    Bytes part(1 << 10);
    EXPECT_EQ(file.read(part), part.size());
    std::filesystem::resize_file(folder / "a", longer ? 2 << 20 : 1 << 19);
    Bytes rest(4 << 20);
    EXPECT_THAT(message_of(Category::data, [&] { file.read(rest); }),
                AllOf(HasSubstr((folder / "a").string()), HasSubstr("it had 1048576 bytes, now")));
  }
}

}  // namespace
}  // namespace spire
