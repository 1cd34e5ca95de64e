// Refusals of HDF5 files, and their messages.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/config/words.h"
#include "tests/data/formats/hdf5_splits.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Hdf5Dataset, FilesThatAreNotHdf5AreRefused) {
  TemporaryFolder folder;
  write_file(folder / "text.h5", {'h', 'e', 'l', 'l', 'o'});
  EXPECT_THAT(message_of(Category::data, [&] { open_dataset(config_of(folder / "text.h5"), {}); }),
              HasSubstr("text.h5: HDF5 cannot open it"));
}

TEST(Hdf5Dataset, UnsupportedShapesAndTypesAreRefused) {
  TemporaryFolder folder;
  auto refusal = [&] {
    return message_of(Category::data, [&] { open_dataset(config_of(folder / "a.h5"), {}); });
  };
  write_splits<uint8_t, int32_t>(folder / "a.h5", {2, 3, 8, 8}, pattern(384), {2}, {0, 1});
  EXPECT_THAT(refusal(), AllOf(HasSubstr("train/images"), HasSubstr("(3, 8, 8)"),
                               HasSubstr("channels are the last dimension")));
  write_splits<uint8_t, int32_t>(folder / "a.h5", {2, 2, 2}, pattern(8), {3}, {0, 1, 2});
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("train/labels: has 3 rows"), HasSubstr("train/images has 2")));
  write_splits<int32_t, int32_t>(folder / "a.h5", {1, 2, 2}, {1, 2, 3, 4}, {1}, {0});
  EXPECT_THAT(refusal(), AllOf(HasSubstr("integers that have neither 8 nor 16 bits"),
                               HasSubstr("astype('uint8')")));
  write_splits<float, int32_t>(folder / "a.h5", {2}, {1, 2}, {2}, {0, 1});
  EXPECT_THAT(refusal(), HasSubstr("neither images"));
  write_splits<uint8_t, int32_t>(folder / "a.h5", {2, 2, 2}, Bytes(8, 3), {2}, {0, 1});
  EXPECT_THAT(refusal(), HasSubstr("all pixels of channel 0 are 3"));
  {
    Hdf5File file(folder / "a.h5");
    file.put<uint8_t>("train/images", {2, 2, 2}, pattern(8));
    file.put<uint8_t>("test/images", {2, 2, 1}, pattern(4));
    for (const char* name : {"train/labels", "test/labels"}) file.put<int32_t>(name, {2}, {0, 1});
  }
  EXPECT_THAT(refusal(), AllOf(HasSubstr("test/images"), HasSubstr("(2, 1, 1)")));
}

TEST(Hdf5Dataset, AChecksumMaySpanMoreRowsThanTheFileHas) {
  TemporaryFolder folder;
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  write_images(folder / "a.h5", 20, 3);
  {
    Hdf5File file(folder / "b.h5");
    for (const std::string split : {"train", "test"}) {
      file.put<uint8_t>(split + "/images", {2, 2, 2}, pattern(8));
      file.put<int32_t>(split + "/labels", {2}, {0, 1});
      for (const std::string& name : {split + "/images", split + "/labels"}) {
        file.put<int64_t>("xxh3/" + name, {1}, {7});
        file.attribute<int64_t>("xxh3/" + name, "rows", {most});
      }
    }
  }
  EXPECT_FALSE(open_dataset(config_of(folder / "a.h5"), {}).train->checksums());
  auto checksums = open_dataset(config_of(folder / "b.h5"), {}).test->checksums();
  ASSERT_TRUE(checksums);
  EXPECT_EQ(checksums->rows, most);
  EXPECT_THAT(checksums->blocks, ElementsAre(ElementsAre(7u), ElementsAre(7u)));
}

// Such datasets take their numbers from other files, or need too much memory.
TEST(Hdf5Dataset, UnsupportedLayoutsAreRefused) {
  TemporaryFolder folder;
  constexpr hsize_t chunk[] = {(hsize_t{256} << 20) + 1};
  auto refusal = [&](auto set_layout) {
    {
      Hdf5File file(folder / "a.h5");
      file.put<uint8_t>("train/images", {2, 2, 2}, pattern(8));
      file.make<uint8_t>("train/labels", 2, set_layout);
    }
    return message_of(Category::data, [&] { open_dataset(config_of(folder / "a.h5"), {}); });
  };
  std::string in_external = refusal(
      [&](hid_t layout, hid_t) { return H5Pset_external(layout, "b.bin", 0, H5F_UNLIMITED); });
  std::string in_virtual = refusal([&](hid_t layout, hid_t space) {
    return H5Pset_virtual(layout, space, ".", "train/images", space);
  });
  for (const std::string& message : {in_external, in_virtual})
    EXPECT_THAT(message, AllOf(HasSubstr("a.h5: train/labels: its numbers are in other files"),
                               HasSubstr("copy them into this one")));
  EXPECT_THAT(
      refusal([&](hid_t layout, hid_t) { return H5Pset_chunk(layout, 1, chunk); }),
      AllOf(HasSubstr("a.h5: train/labels: chunks of over 256 MiB"), HasSubstr("h5repack")));
}

TEST(Hdf5Dataset, ChunksThatTheCacheCannotHoldAreRefused) {
  TemporaryFolder folder;
  constexpr hsize_t count = 40, chunk = 2, row = 64 * 1024;
  {
    Hdf5File file(folder / "a.h5");
    for (const std::string split : {"train", "test"}) {
      file.put(split + "/images", {count, 256, 256, 1}, pattern(count * row), chunk);
      file.put(split + "/labels", {count}, std::vector<int32_t>(count));
    }
  }
  DataConfig config = config_of(folder / "a.h5");
  config.hdf5.cache_mib = 1;
  EXPECT_THAT(message_of(Category::config, [&] { open_dataset(config, {}); }),
              AllOf(HasSubstr("data.hdf5.cache_mib: 1 MiB"), HasSubstr("16 chunks"),
                    HasSubstr("train/images"), HasSubstr("set 3 or more")));
  config.shuffle = DataConfig::Shuffle::full;
  EXPECT_NO_THROW(open_dataset(config, {}));
  config.shuffle = DataConfig::Shuffle::automatic, config.hdf5.cache_mib = 3;
  EXPECT_NO_THROW(open_dataset(config, {}));
}

}  // namespace
}  // namespace spire
