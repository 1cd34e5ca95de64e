// Archives of NumPy's arrays as datasets: names, stored and deflated entries, damage.
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/numpy/npy_array.h"
#include "tests/data/numpy/npy_files.h"
#include "tests/data/numpy/zip_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

using Floats = std::vector<float>;
using Labels = std::vector<int64_t>;

class Npz : public testing::Test {
 protected:
  void write(const std::vector<ZipMember>& members) { write_zip(config_.path, members); }
  DatasetPair open_it() { return open_dataset(config_, {}); }

  Folder folder_;
  DataConfig config_ = data_at("npy", folder_ / "a.npz");
};

ZipMember features(const std::string& name, const Floats& values) {
  return {name + ".npy", npy_bytes("<f4", fmt::format("({}, 1)", values.size()), values)};
}

ZipMember labels(const std::string& name, const Labels& values) {
  return {name + ".npy", npy_bytes("<i8", fmt::format("({},)", values.size()), values)};
}

// Names as those of Keras' mnist.npz, in any order.
std::vector<ZipMember> both_splits() {
  return {features("x_test", {9, 7}), features("x_train", {1, 3, 5}), labels("y_train", {0, 2, 1}),
          labels("y_test", {1, 0})};
}

// As np.savez with mode "a" leaves it: NumPy reads the entry that was added last.
TEST_F(Npz, OfEntriesOfOneNameTheLastOneCounts) {
  std::vector<ZipMember> members = both_splits();
  members.push_back(labels("y_test", {2, 0}));
  write(members);
  EXPECT_THAT(read_column<int32_t>(*open_it().test, 1, {0, 1}), ElementsAre(2, 0));
}

// An archive of over 4 GiB, most of which is a hole: sizes and places of its entries are in zip64
// records alone.
TEST_F(Npz, ArchivesOfOver4GiBAreRead) {
  constexpr uint64_t rows = 70'000, row_bytes = 256 * 256;
  static_assert(rows * row_bytes > uint64_t{1} << 32);
  LargeZip zip(config_.path);
  zip.add("x_train.npy", npy_bytes("|u1", fmt::format("({}, 256, 256)", rows), Bytes{}),
          rows * row_bytes);
  std::vector<uint8_t> classes(rows);
  classes.back() = 1;
  zip.add("y_train.npy", npy_bytes("|u1", fmt::format("({},)", rows), classes));
  zip.add("x_test.npy", npy_bytes("|u1", "(1, 256, 256)", pattern(row_bytes)));
  zip.add("y_test.npy", npy_bytes("|u1", "(1,)", Bytes{1}));
  zip.close();
  config_.normalize = DataConfig::Normalize::unit;
  DatasetPair pair = open_it();
  EXPECT_EQ(pair.train->count(), static_cast<int64_t>(rows));
  EXPECT_THAT(read_column<int32_t>(*pair.train, 1, {0, rows - 1}), ElementsAre(0, 1));
  std::vector<float> last = read_column<float>(*pair.test, 0, {0});
  EXPECT_EQ(last[5], static_cast<float>(pattern(6)[5] / 255.0));
}

TEST_F(Npz, StoredAndDeflatedEntriesAreTheSameData) {
  for (bool deflated : {false, true})
    for (bool zip64 : {false, true}) {
      std::vector<ZipMember> members = both_splits();
      for (ZipMember& member : members) member.deflated = deflated, member.zip64 = zip64;
      write(members);
      DatasetPair pair = open_it();
      EXPECT_THAT(pair.train->spec().columns, ElementsAre(Column{"features", {1}, DType::f32},
                                                          Column{"labels", {}, DType::i32}));
      const Normalization& by = pair.train->spec().normalization;
      EXPECT_THAT(by.mean, ElementsAre(3));
      auto scaled = [&](double x) { return static_cast<float>((x - 3) / by.stddev[0]); };
      EXPECT_THAT(read_column<float>(*pair.train, 0, {2, 0}), ElementsAre(scaled(5), scaled(1)));
      EXPECT_THAT(read_column<float>(*pair.test, 0, {0, 1}), ElementsAre(scaled(9), scaled(7)));
      EXPECT_THAT(read_column<int32_t>(*pair.test, 1, {0, 1}), ElementsAre(1, 0));
      EXPECT_THAT(pair.train->layout(),
                  ElementsAre("x_train.npy: float32 (3, 1)", "y_train.npy: int64 (3)"));
      EXPECT_THAT(pair.train->files(), ElementsAre(config_.path));
      EXPECT_THAT(pair.notes, ElementsAre());
    }
}

// numpy.savez_compressed has written x: float32 [[1.5], [-2]] and y: [1, 0].
TEST_F(Npz, ReadsWhatNumPyWrites) {
  NpySet set(DATA_FOLDER "/numpy/numpy_2.4.6.npz");
  EXPECT_THAT(set.names(), ElementsAre("x", "y"));
  Floats x(2);
  std::vector<std::byte> memory;
  set.open("x")->read(0, 2, DType::f32, memory, reinterpret_cast<std::byte*>(x.data()));
  EXPECT_THAT(x, ElementsAre(1.5f, -2.0f));
  std::vector<int32_t> y(2);
  set.open("y")->read(0, 2, DType::i32, memory, reinterpret_cast<std::byte*>(y.data()));
  EXPECT_THAT(y, ElementsAre(1, 0));
}

TEST_F(Npz, AnInputWithoutASplitIsPartedByTheShare) {
  Floats x;
  Labels y;
  for (int row = 0; row < 100; ++row) x.push_back(static_cast<float>(row)), y.push_back(row % 2);
  write({features("X", x), labels("y", y), features("weights", {1})});
  config_.npy.test_share = 0.3;
  DatasetPair pair = open_it();
  EXPECT_EQ(pair.train->count() + pair.test->count(), 100);
  EXPECT_GT(pair.test->count(), 15);
  EXPECT_THAT(pair.notes, ElementsAre(EndsWith("a.npz: 'weights' not used; data.npy.train and "
                                               "data.npy.test choose arrays")));
}

// MedMNIST's archives have train_images, and gray images of one axis less.
TEST_F(Npz, TheSplitMayStandBeforeTheWord) {
  ZipMember images = {"train_images.npy", npy_bytes("|u1", "(2, 1, 2)", Bytes{0, 255, 255, 0})};
  ZipMember tests = images;
  tests.name = "test_images.npy";
  write({images,
         {"train_labels.npy", npy_bytes("|u1", "(2, 1)", Bytes{0, 1})},
         tests,
         {"test_labels.npy", npy_bytes("|u1", "(2, 1)", Bytes{1, 1})}});
  DatasetPair pair = open_it();
  EXPECT_THAT(pair.train->spec().columns, ElementsAre(Column{"images", {1, 2, 1}, DType::f32},
                                                      Column{"labels", {}, DType::i32}));
  EXPECT_THAT(read_column<int32_t>(*pair.test, 1, {0, 1}), ElementsAre(1, 1));
}

TEST_F(Npz, KeysNameTheArrays) {
  write({features("a", {1, 2}), labels("b", {0, 1}), features("c", {3}), labels("d", {1})});
  EXPECT_THAT(
      open_refusal(config_),
      AllOf(HasSubstr("a.npz: there is no array x_train, images_train"),
            HasSubstr("it has 'a', 'b', 'c', 'd'"), EndsWith("or set data.npy.train.input")));
  config_.npy.train = {"a", "b.npy"};
  config_.npy.test = {"c", "d"};
  EXPECT_EQ(open_it().train->count(), 2);
  EXPECT_EQ(open_it().test->count(), 1);
  config_.npy.test.target = "e";
  EXPECT_THAT(open_refusal(config_),
              HasSubstr("a.npz: data.npy.test.target: there is no array e; it has 'a'"));
  config_.npy.test = {"auto", "d"};
  EXPECT_THAT(open_refusal(config_),
              HasSubstr("d.npy: there is no input for it, such as x_test; save that"));
}

// The same keys name files of a folder.
TEST_F(Npz, KeysNameFilesOfAFolder) {
  config_.path = folder_.path().string();
  write_npy(folder_ / "a.npy", "<f4", "(2, 1)", Floats{1, 2});
  write_npy(folder_ / "y.npy", "<i8", "(2,)", Labels{0, 1});
  config_.npy.train = {"a", "auto"};
  config_.npy.test = {"a", "y"};
  EXPECT_EQ(open_it().test->count(), 2);
  config_.npy.train.input = "b";
  EXPECT_THAT(open_refusal(config_),
              HasSubstr("data.npy.train.input: there is no array b; correct the name"));
}

TEST_F(Npz, ErrorsNameArchiveAndEntry) {
  write({features("x", {1, 2}), labels("y", {0, 1, 1})});
  EXPECT_THAT(open_refusal(config_),
              HasAll("a.npz: y.npy: has 3 rows, but", "a.npz: x.npy has 2; use files of one set"));
  write({{"x.npy", {1, 2, 3}}, labels("y", {0, 1, 1})});
  EXPECT_THAT(open_refusal(config_), HasSubstr("a.npz: x.npy: has no header"));
  write({{"x.npy", npy_bytes("<f4", "(9,)", Floats{1})}, labels("y", {0, 1, 1})});
  EXPECT_THAT(open_refusal(config_),
              HasSubstr("a.npz: x.npy: has 4 bytes of numbers, but its shape needs 36"));
  write({});
  EXPECT_THAT(open_refusal(config_),
              HasSubstr("a.npz: is no intact zip archive, or has no entries"));
}

TEST_F(Npz, OtherFilesAreRefusedWithARemedy) {
  write_text(config_.path, "no archive");
  EXPECT_THAT(open_refusal(config_),
              HasSubstr("a.npz: is no intact zip archive, or has no entries; write it again by"));
  write_npy(config_.path, "<f4", "(1,)", Floats{1});
  EXPECT_THAT(open_refusal(config_, Category::config),
              HasAll("is a single array", "save both by numpy.savez"));
  std::filesystem::remove(config_.path);
  EXPECT_THAT(open_refusal(config_, Category::config), HasSubstr("is no folder and no .npz file"));
}

// Offsets of an entry's central header, from its signature: method 10, flags 8, sizes 20 and 24.
TEST_F(Npz, EntriesThatCannotBeReadAreRefused) {
  auto says = [&](size_t offset, uint8_t value, bool deflated = false) {
    ZipMember x = features("x", {1, 2}), y = labels("y", {0, 1});
    x.deflated = deflated;
    write({x, y});
    Bytes bytes = file_bytes(config_.path);
    const Bytes signature = {'P', 'K', 1, 2};
    auto header = std::ranges::search(bytes, signature).begin();
    header[static_cast<std::ptrdiff_t>(offset)] = value;
    write_file(config_.path, bytes);
    return open_refusal(config_);
  };
  EXPECT_THAT(says(8, 1), HasSubstr("a.npz: x.npy: is encrypted; write it again"));
  EXPECT_THAT(says(10, 12), HasSubstr("a.npz: x.npy: is compressed by method 12; only stored"));
  EXPECT_THAT(says(24, 7), HasSubstr("which cannot be the"));
  EXPECT_THAT(says(27, 0x7f, true), HasSubstr("which cannot be the"));
  EXPECT_THAT(says(45, 0x7f), HasSubstr("x.npy: is damaged: it does not lie where"));
}

// A damaged number of a deflated entry shows at the start, one of a stored entry when it is
// verified.
TEST_F(Npz, ChecksumsAreCompared) {
  for (bool deflated : {false, true}) {
    ZipMember x = features("x", Floats(64, 1.5f)), y = labels("y", Labels(64, 1));
    x.deflated = deflated;
    write({x, y});
    open_it().train->verify_files();
    Bytes bytes = file_bytes(config_.path);
    constexpr size_t begin = 30 + 5;  // behind the local header and the entry's name
    bytes[begin + (deflated ? 40 : 128 + 64)] ^= 4;
    write_file(config_.path, bytes);
    if (deflated) {
      EXPECT_THAT(open_refusal(config_), HasSubstr("a.npz: x.npy: is damaged"));
    } else {
      DatasetPair pair = open_it();
      EXPECT_THAT(message_of(Category::data, [&] { pair.train->verify_files(); }),
                  HasSubstr("a.npz: x.npy: its checksum does not match; get an intact copy"));
    }
  }
}

}  // namespace
}  // namespace spire
