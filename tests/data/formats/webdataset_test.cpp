// Tar shards: their members, their samples, and what is refused.
#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/formats/webdataset_index.h"
#include "engine/data/sampler.h"
#include "tests/data/formats/tar_files.h"
#include "tests/data/images/image_files.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

std::vector<std::string> members_of(const Bytes& archive) {
  Folder folder;
  write_file(folder / "a.tar", archive);
  std::vector<std::string> members;
  RegularFile file(folder / "a.tar", Category::data);
  for_each_member(file, [&](const TarMember& member) {
    std::string content(member.bytes, '\0');
    file.read_at(member.offset, std::as_writable_bytes(std::span(content)));
    members.push_back(member.name + "=" + content);
  });
  return members;
}

TEST(Tar, MembersAreFoundInPlace) {
  std::string long_name(130, 'n');
  Bytes archive = tar_of(
      {tar_text("a.txt", "one"), tar_text("folder/", "", '5'), tar_member("b", {}, '0', "deep/er"),
       tar_text("x", pax_record("mtime", "1.5") + pax_record("path", "pax/näme"), 'x'),
       tar_text("short", "two"), tar_text("x", long_name + '\0', 'L'), tar_text("nn", "three"),
       tar_text("link", "", '2'), tar_text("g", pax_record("comment", "all"), 'g'),
       tar_text("last", std::string(600, 'z'))});
  EXPECT_THAT(members_of(archive),
              ElementsAre("a.txt=one", "deep/er/b=", "pax/näme=two", long_name + "=three",
                          "last=" + std::string(600, 'z')));
}

// cat a.tar b.tar: the zeros between them are of any number, as tar fills its records.
TEST(Tar, JoinedArchivesAreReadToTheEnd) {
  Bytes first = tar_of({tar_text("a", "one")}), second = tar_of({tar_text("b", "two")});
  first.resize(10240);
  Bytes joined = first;
  joined.insert(joined.end(), second.begin(), second.end());
  EXPECT_THAT(members_of(joined), ElementsAre("a=one", "b=two"));
  joined.resize(joined.size() + 700);
  EXPECT_THAT(members_of(joined), ElementsAre("a=one", "b=two"));
  joined.back() = 1;
  EXPECT_THAT(message_of(Category::data, [&] { members_of(joined); }),
              HasSubstr("no tar archive, but data behind the end of one"));
}

TEST(Tar, LargeSizesAreBinaryOrInPax) {
  Bytes binary = tar_text("a", "12345");
  Bytes size(12);
  size[0] = 0x80, size[11] = 5;
  std::copy(size.begin(), size.end(), binary.begin() + 124);
  put_checksum(binary);
  Bytes by_pax = tar_text("b", "123");
  put_field("00000000000", 124, by_pax);
  put_checksum(by_pax);
  EXPECT_THAT(members_of(tar_of({binary, tar_text("x", pax_record("size", "3"), 'x'), by_pax})),
              ElementsAre("a=12345", "b=123"));
}

std::string tar_refusal(const Bytes& archive) {
  return message_of(Category::data, [&] { members_of(archive); });
}

TEST(Tar, DamagedArchivesAreRefused) {
  Bytes good = tar_of({tar_text("a", "one"), tar_text("b", "two")}), damaged = good;
  damaged[1030] ^= 1;
  EXPECT_THAT(tar_refusal(damaged), HasSubstr("a.tar: byte 1024: no header of a tar archive"));
  EXPECT_THAT(tar_refusal({good.begin(), good.begin() + 2048}),
              HasSubstr("byte 2048: truncated: the archive ends without the mark of its end"));
  EXPECT_THAT(tar_refusal({good.begin(), good.begin() + 514}), HasSubstr("truncated within 'a'"));
  EXPECT_THAT(tar_refusal(gzip(Bytes(2000))), HasSubstr("truncated"));
  Bytes noise(1024, 7);
  noise[0] = 0x1f, noise[1] = 0x8b;
  EXPECT_THAT(tar_refusal(noise), HasSubstr("unpack it by gunzip"));
  EXPECT_THAT(tar_refusal(tar_of({tar_text("x", "9 path", 'x')})), HasSubstr("damaged pax header"));
  EXPECT_THAT(tar_refusal(tar_of({tar_text("x", pax_record("size", "3x"), 'x')})),
              HasSubstr("damaged pax header"));
  EXPECT_THAT(tar_refusal(tar_of({tar_text("a", "", 'S')})), HasSubstr("sparse"));
  EXPECT_THAT(tar_refusal(tar_of({tar_text("x", pax_record("GNU.sparse.major", "1"), 'x')})),
              HasSubstr("sparse"));
  Bytes no_size = tar_text("a", "");
  put_field("hello", 124, no_size);
  put_checksum(no_size);
  EXPECT_THAT(tar_refusal(tar_of({no_size})), HasSubstr("byte 124: the size is no number"));
}

TEST(Braces, StandForNumbers) {
  EXPECT_THAT(expand_braces("a.tar"), ElementsAre("a.tar"));
  EXPECT_THAT(expand_braces("s{08..11}.tar"),
              ElementsAre("s08.tar", "s09.tar", "s10.tar", "s11.tar"));
  EXPECT_THAT(expand_braces("{1..2}/{0..1}"), ElementsAre("1/0", "1/1", "2/0", "2/1"));
  for (const char* bad : {"a{1..", "a{1}", "a{b..c}", "a{5..2}", "{0..999999}{0..9}", "{-1..2}"})
    EXPECT_THAT(message_of(Category::config, [&] { expand_braces(bad); }), HasSubstr("data.path"));
}

// One sample: an image of its own, and its class.
void add_sample(int64_t number, int64_t label, std::vector<Bytes>& members) {
  std::string key = fmt::format("set/{:03}", number);
  members.push_back(tar_member(key + ".png", png_bytes(smooth_image(8, 8, number))));
  members.push_back(tar_text(key + ".cls", std::to_string(label) + "\n"));
}

// Shard i has i + 3 samples; those of all shards are numbered one after another.
void write_shards(const fs::path& folder, const std::string& start, int64_t shards) {
  fs::create_directories(folder);
  int64_t number = 0;
  for (int64_t i = 0; i < shards; ++i) {
    std::vector<Bytes> members;
    for (int64_t j = 0; j < i + 3; ++j, ++number) add_sample(number, number % 2, members);
    write_file(folder / fmt::format("{}-{:02}.tar", start, i), tar_of(members));
  }
}

DataConfig config_of(const std::string& path) {
  DataConfig config = data_at("webdataset", path);
  config.image.size = 8;
  config.image.fit = ImageConfig::Fit::squash;
  config.normalize = DataConfig::Normalize::unit;
  return config;
}

class WebDataset : public FolderTest {};

// Pixels and label of each sample are those that were written.
TEST_F(WebDataset, SamplesAreReadInPlace) {
  write_shards(folder_.path(), "train", 3);
  write_shards(folder_.path(), "val", 1);
  DatasetPair pair = open_dataset(config_of(folder_.path().string()), {});
  ASSERT_EQ(pair.train->count(), 3 + 4 + 5);
  ASSERT_EQ(pair.test->count(), 3);
  EXPECT_EQ(pair.train->spec().classes, 2);
  EXPECT_TRUE(pair.notes.empty());
  EXPECT_EQ(pair.train->files().size(), 3u);
  for (int64_t sample : {11, 0, 5}) {
    EXPECT_EQ(read_column<int32_t>(*pair.train, 1, {sample})[0], sample % 2);
    std::vector<float> row = read_column<float>(*pair.train, 0, {sample});
    RgbImage image = smooth_image(8, 8, sample);
    for (size_t i = 0; i < row.size(); ++i)
      ASSERT_EQ(row[i], static_cast<float>(image.pixels[i] / 255.0)) << sample;
  }
}

TEST_F(WebDataset, FoldersPatternsAndSharesMakeTheSplits) {
  write_shards(folder_ / "train", "x", 2);
  write_shards(folder_ / "test", "x", 1);
  DatasetPair in_folders = open_dataset(config_of(folder_.path().string()), {});
  EXPECT_EQ(in_folders.train->count(), 7);
  EXPECT_EQ(in_folders.test->count(), 3);
  DataConfig config = config_of((folder_ / "train/x-{00..01}.tar").string());
  config.image.test_share = 0.3;
  DatasetPair shared = open_dataset(config, {});
  EXPECT_EQ(shared.train->count(), 5);
  EXPECT_EQ(shared.test->count(), 2);  // one of each class
  EXPECT_THAT(read_all<int32_t>(*shared.test, 1), testing::UnorderedElementsAre(0, 1));
  EXPECT_EQ(open_dataset(config_of((folder_ / "train/x-01.tar").string()), {}).train->count(), 2);
}

// All orders are permutations; with chunk, neighbours in the order are of few shards.
TEST_F(WebDataset, ChunksAreShards) {
  write_shards(folder_.path(), "train", 4);
  write_shards(folder_.path(), "val", 1);
  DataConfig config = config_of(folder_.path().string());
  EXPECT_EQ(open_dataset(config, {}).train->chunk(), 1);
  config.shuffle = DataConfig::Shuffle::chunk;
  DatasetPair pair = open_dataset(config, {});
  EXPECT_EQ(pair.train->chunk(), 5);  // 18 samples in 4 shards
  Sampler sampler(pair.train->count(), 3, pair.train->chunk());
  std::set<int64_t> seen;
  for (int64_t i = 0; i < sampler.count(); ++i) seen.insert(sampler.index(0, i));
  EXPECT_EQ(std::ssize(seen), pair.train->count());
}

DatasetPair open_members(const Folder& folder, const std::vector<Bytes>& members,
                         const DataConfig& more = {}) {
  write_file(folder / "a.tar", tar_of(members));
  DataConfig config = config_of((folder / "a.tar").string());
  config.on_error = more.on_error;
  return open_dataset(config, {});
}

TEST_F(WebDataset, LabelsComeFromClsOrJson) {
  Bytes image = png_bytes(smooth_image(8, 8));
  DatasetPair pair = open_members(
      folder_,
      {tar_member("a.png", image), tar_text("a.json", R"({"label": 3, "x": [1]})"),
       tar_text("a.txt", "a caption"), tar_text("b.cls", " 3 "), tar_member("b.PNG", image),
       tar_text("b.json", R"({"label": 3})"), tar_text("c.json", R"({"cls": 3})"),
       tar_member("c.png", image), tar_text("d.cls", "5")});
  EXPECT_EQ(pair.train->count() + pair.test->count(), 3);
  EXPECT_EQ(pair.train->spec().classes, 4);
  EXPECT_THAT(pair.notes, ElementsAre(HasAll("2 members of the shards not read", "'a.txt'")));
}

TEST_F(WebDataset, WhatIsNoDatasetIsRefusedByWhatIsWrong) {
  Bytes image = png_bytes(smooth_image(8, 8));
  auto refusal = [&](const std::vector<Bytes>& members) {
    return message_of(Category::data, [&] { open_members(folder_, members); });
  };
  EXPECT_THAT(refusal({tar_member("a.png", image), tar_member("b.png", image),
                       tar_text("a.cls", "0"), tar_text("b.cls", "1")}),
              HasAll("a.tar: 'a.png': its 'a.cls' is not beside it",
                     "write the shard again by tar --sort=name"));
  EXPECT_THAT(refusal({tar_text("a.cls", "0"), tar_text("b.cls", "1"), tar_member("a.png", image)}),
              HasSubstr("its 'a.cls' is not beside it"));
  EXPECT_THAT(refusal({tar_member("x/cat.v1.png", image), tar_text("x/cat.v1.cls", "0")}),
              HasAll("'x/cat.v1.png': a sample's name ends at its first dot",
                     "the sample 'x/cat' without an image; write names without dots"));
  EXPECT_THAT(refusal({tar_member("a.png", image), tar_text("a.cls", "2"),
                       tar_text("a.json", R"({"label": 1})")}),
              HasSubstr("'a.json': it says that the label is 1, but 'a.cls' says 2; correct one"));
  EXPECT_THAT(refusal({}), HasSubstr("in the shards; check data.path"));
  EXPECT_THAT(refusal({tar_member("a.png", image)}), HasAll("a.tar: 'a.png'", "no label"));
  EXPECT_THAT(refusal({tar_member("a.png", image), tar_text("a.json", "[]")}),
              HasSubstr("no label"));
  EXPECT_THAT(refusal({tar_member("a.png", image), tar_text("a.cls", "cat")}),
              HasSubstr("'a.cls': it is not one whole number"));
  EXPECT_THAT(refusal({tar_member("a.png", image), tar_text("a.cls", "-1")}),
              HasSubstr("label -1, expected 0 to"));
  EXPECT_THAT(refusal({tar_member("a.png", image), tar_member("a.jpg", image)}),
              HasSubstr("a second image of the sample"));
  EXPECT_THAT(open_refusal(data_at("webdataset", folder_ / "no.tar")), HasSubstr("no.tar"));
  fs::create_directories(folder_ / "empty");
  EXPECT_THAT(open_refusal(data_at("webdataset", folder_ / "empty")),
              HasSubstr("contains no .tar files"));
  // Other images of a sample, and hidden files, are none of this.
  EXPECT_EQ(open_members(folder_, {tar_member("a.png", image), tar_member("a.seg.png", image),
                                   tar_text("a.cls", "0"), tar_member("._a.png", image),
                                   tar_member("b.png", image), tar_text("b.cls", "0")})
                .train->count(),
            1);
}

}  // namespace
}  // namespace spire
