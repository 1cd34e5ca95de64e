// IDX files: plain, gzip, damaged.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/formats/labelled_files.h"
#include "engine/data/input_file.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::ElementsAre;

class Idx : public FolderTest {};

// Longer than any internal buffer, so that file and content are read in many parts.
TEST_F(Idx, ReadsFilesOfManyBuffers) {
  std::mt19937 random(1);
  Bytes body(3000 * 20 * 20);
  for (uint8_t& value : body) value = static_cast<uint8_t>(random());
  Bytes file = idx_bytes(0x803, {3000, 20, 20}, body);
  write_file(folder_ / "plain", file);
  write_file(folder_ / "zipped", gzip(file));
  IdxFile plain = read_idx_images(folder_ / "plain");
  EXPECT_EQ(plain.values, body);
  EXPECT_THAT(plain.dims, ElementsAre(3000, 20, 20));
  EXPECT_EQ(plain.path, folder_ / "plain");
  EXPECT_EQ(read_idx_images(folder_ / "zipped").values, body);
}

TEST_F(Idx, ReadsImagesOneAfterAnother) {
  Bytes body = pattern(50 * 7 * 9);
  write_file(folder_ / "images", gzip(idx_bytes(0x803, {50, 7, 9}, body)));
  IdxImages images(folder_ / "images");
  EXPECT_EQ(images.count(), 50);
  EXPECT_EQ(images.height(), 7);
  EXPECT_EQ(images.width(), 9);
  Bytes all, image(7 * 9);
  while (images.next(image)) all.insert(all.end(), image.begin(), image.end());
  EXPECT_EQ(all, body);
  EXPECT_FALSE(images.next(image));
}

TEST_F(Idx, DetectsGzipByContentNotByName) {
  Bytes file = idx_bytes(0x801, {3}, {1, 2, 3});
  write_file(folder_ / "zipped", gzip(file));
  write_file(folder_ / "plain.gz", file);
  EXPECT_THAT(read_idx_labels(folder_ / "zipped").values, ElementsAre(1, 2, 3));
  EXPECT_THAT(read_idx_labels(folder_ / "plain.gz").values, ElementsAre(1, 2, 3));
}

TEST_F(Idx, TriesTheNameWithAndWithoutGz) {
  write_file(folder_ / "a.gz", gzip(idx_bytes(0x801, {1}, {4})));
  write_file(folder_ / "b", idx_bytes(0x801, {1}, {5}));
  EXPECT_THAT(read_idx_labels(folder_ / "a").values, ElementsAre(4));
  EXPECT_THAT(read_idx_labels(folder_ / "b.gz").values, ElementsAre(5));
  EXPECT_EQ(find_input(folder_ / "a"), folder_ / "a.gz");
  EXPECT_EQ(find_input(folder_ / "b.gz"), folder_ / "b");
  EXPECT_TRUE(find_input(folder_ / "c").empty());
}

// RFC 1952: the content is the concatenation of all members.
TEST_F(Idx, ReadsConcatenatedGzipMembers) {
  Bytes file = idx_bytes(0x801, {6}, {1, 2, 3, 4, 5, 6});
  Bytes zipped = gzip(Bytes(file.begin(), file.begin() + 10));
  Bytes rest = gzip(Bytes(file.begin() + 10, file.end()));
  zipped.insert(zipped.end(), rest.begin(), rest.end());
  write_file(folder_ / "labels", zipped);
  EXPECT_THAT(read_idx_labels(folder_ / "labels").values, ElementsAre(1, 2, 3, 4, 5, 6));
}

// Flips bits of a valid file, or truncates it. It must be read as an array of the announced size or
// be refused with Error(data). (tests/fuzz does this to plain files.)
TEST_F(Idx, DamagedGzipFilesNeverCrashNorPassUnnoticed) {
  Bytes content = pattern(3 * 5 * 4), file = gzip(idx_bytes(0x803, {3, 5, 4}, content));
  std::mt19937 random(12);
  int read = 0, refused = 0;
  for (int i = 0; i < 600; ++i) {
    Bytes damaged = file;
    if (i % 3 == 0) damaged.resize(random() % damaged.size());
    if (i % 3 != 0 || random() % 2 == 0)
      for (uint32_t flips = 1 + random() % 3; flips > 0 && !damaged.empty(); --flips)
        damaged[random() % damaged.size()] ^= static_cast<uint8_t>(1u << random() % 8);
    write_file(folder_ / "file", damaged);
    try {
      IdxFile idx = read_idx_images(folder_ / "file");
      ++read;
      ASSERT_EQ(static_cast<int64_t>(idx.values.size()), idx.dims[0] * idx.dims[1] * idx.dims[2]);
      ASSERT_EQ(idx.values, content) << "damage " << i << " went unnoticed";
    } catch (const Error& error) {
      ++refused;
      ASSERT_EQ(error.category(), Category::data) << error.what();
      ASSERT_NE(std::string(error.what()).find((folder_ / "file").string()), std::string::npos);
    }
  }
  EXPECT_EQ(read + refused, 600);
  EXPECT_GT(refused, 200);  // all truncated ones at least
}

// Files that are read once, when a run starts.
TEST(InputFile, EndsTheRunWhereItsFileChanges) {
  Folder folder;
  for (bool longer : {false, true}) {
    write_file(folder / "a", Bytes(1 << 20, 'a'));
    InputFile file(folder / "a");
    Bytes part(1 << 10);
    EXPECT_EQ(file.read(part), part.size());
    std::filesystem::resize_file(folder / "a", longer ? 2 << 20 : 1 << 19);
    Bytes rest(4 << 20);
    EXPECT_THAT(message_of(Category::data, [&] { file.read(rest); }),
                HasAll((folder / "a").string(), "it had 1048576 bytes, now"));
  }
}

}  // namespace
}  // namespace spire
