// Refusals of HDF5 files, and their messages.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/config/words.h"
#include "tests/data/formats/hdf5_splits.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(Hdf5Dataset, FilesThatAreNotHdf5AreRefused) {
  write_file(folder_ / "text.h5", {'h', 'e', 'l', 'l', 'o'});
  EXPECT_THAT(open_refusal(config_of(folder_ / "text.h5")),
              HasSubstr("text.h5: HDF5 cannot open it"));
}

TEST_F(Hdf5Dataset, UnsupportedShapesAndTypesAreRefused) {
  auto refusal = [&] { return open_refusal(config_of(folder_ / "a.h5")); };
  write_splits<uint8_t, int32_t>(folder_ / "a.h5", {2, 3, 8, 8}, pattern(384), {2}, {0, 1});
  EXPECT_THAT(refusal(), HasAll("train/images", "(3, 8, 8)", "channels are the last dimension"));
  write_splits<uint8_t, int32_t>(folder_ / "a.h5", {2, 2, 2}, pattern(8), {3}, {0, 1, 2});
  EXPECT_THAT(refusal(), HasAll("train/labels: has 3 rows", "train/images has 2"));
  write_splits<int32_t, int32_t>(folder_ / "a.h5", {1, 2, 2}, {1, 2, 3, 4}, {1}, {0});
  EXPECT_THAT(refusal(), HasAll("integers that have neither 8 nor 16 bits", "astype('uint8')"));
  write_splits<float, int32_t>(folder_ / "a.h5", {2}, {1, 2}, {2}, {0, 1});
  EXPECT_THAT(refusal(), HasSubstr("neither images"));
  write_splits<uint8_t, int32_t>(folder_ / "a.h5", {2, 2, 2}, Bytes(8, 3), {2}, {0, 1});
  EXPECT_THAT(refusal(), HasSubstr("all pixels of channel 0 are 3"));
  {
    Hdf5File file(folder_ / "a.h5");
    file.put<uint8_t>("train/images", {2, 2, 2}, pattern(8));
    file.put<uint8_t>("test/images", {2, 2, 1}, pattern(4));
    for (const char* name : {"train/labels", "test/labels"}) file.put<int32_t>(name, {2}, {0, 1});
  }
  EXPECT_THAT(refusal(), HasAll("test/images", "(2, 1, 1)"));
}

TEST_F(Hdf5Dataset, AChecksumMaySpanMoreRowsThanTheFileHas) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  write_images(folder_ / "a.h5", 20, 3);
  write_parts(folder_ / "b.h5", [&](Hdf5File& file, const std::string& part) {
    file.put<uint8_t>(part + "images", {2, 2, 2}, pattern(8));
    file.put<int32_t>(part + "labels", {2}, {0, 1});
    for (const std::string& name : {part + "images", part + "labels"}) {
      file.put<int64_t>("xxh3/" + name, {1}, {7});
      file.attribute<int64_t>("xxh3/" + name, "rows", {most});
    }
  });
  EXPECT_FALSE(open_dataset(config_of(folder_ / "a.h5"), {}).train->checksums());
  auto checksums = open_dataset(config_of(folder_ / "b.h5"), {}).test->checksums();
  ASSERT_TRUE(checksums);
  EXPECT_EQ(checksums->rows, most);
  EXPECT_THAT(checksums->blocks, ElementsAre(ElementsAre(7u), ElementsAre(7u)));
}

// Such datasets take their numbers from other files, or need too much memory.
TEST_F(Hdf5Dataset, UnsupportedLayoutsAreRefused) {
  constexpr hsize_t chunk[] = {(hsize_t{256} << 20) + 1};
  auto refusal = [&](auto set_layout) {
    {
      Hdf5File file(folder_ / "a.h5");
      file.put<uint8_t>("train/images", {2, 2, 2}, pattern(8));
      file.make<uint8_t>("train/labels", 2, set_layout);
    }
    return open_refusal(config_of(folder_ / "a.h5"));
  };
  std::string in_external = refusal(
      [&](hid_t layout, hid_t) { return H5Pset_external(layout, "b.bin", 0, H5F_UNLIMITED); });
  std::string in_virtual = refusal([&](hid_t layout, hid_t space) {
    return H5Pset_virtual(layout, space, ".", "train/images", space);
  });
  for (const std::string& message : {in_external, in_virtual})
    EXPECT_THAT(message, HasAll("a.h5: train/labels: its numbers are in other files",
                                "copy them into this one"));
  EXPECT_THAT(refusal([&](hid_t layout, hid_t) { return H5Pset_chunk(layout, 1, chunk); }),
              HasAll("a.h5: train/labels: chunks of over 256 MiB", "h5repack"));
}

TEST_F(Hdf5Dataset, ChunksThatTheCacheCannotHoldAreRefused) {
  constexpr hsize_t count = 40, chunk = 2, row = 64 * 1024;
  write_parts(folder_ / "a.h5", [&](Hdf5File& file, const std::string& part) {
    file.put(part + "images", {count, 256, 256, 1}, pattern(count * row), chunk);
    file.put(part + "labels", {count}, std::vector<int32_t>(count));
  });
  DataConfig config = config_of(folder_ / "a.h5");
  config.hdf5.cache_mib = 1;
  EXPECT_THAT(open_refusal(config, Category::config),
              HasAll("data.hdf5.cache_mib: 1 MiB", "16 chunks", "train/images", "set 3 or more"));
  config.shuffle = DataConfig::Shuffle::full;
  EXPECT_NO_THROW(open_dataset(config, {}));
  config.shuffle = DataConfig::Shuffle::automatic, config.hdf5.cache_mib = 3;
  EXPECT_NO_THROW(open_dataset(config, {}));
}

}  // namespace
}  // namespace spire
