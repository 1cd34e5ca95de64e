// Checks arrays of NumPy as input of a model.
#include <gmock/gmock.h>

#include "tests/data/formats/hdf5_files.h"
#include "tests/data/numpy/npy_files.h"
#include "tests/data/numpy/zip_files.h"
#include "tests/inference/input_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Rows = std::vector<std::vector<float>>;

SampleSpec spec_of(const Column& input) {
  SampleSpec spec;
  spec.columns = {input, {"labels", {}, DType::i32}};
  spec.normalization = {{1}, {2}};
  return spec;
}

class Arrays : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Folder folder_;
};

TEST_F(Arrays, RowsAreNormalizedAsTheModelsData) {
  write_npy(folder_ / "a.npy", "<f8", "(2, 1)", std::vector<double>{3, 7});
  write_npy(folder_ / "b.npy", "<i4", "(1, 1)", std::vector<int32_t>{-1});
  ReadInputs read =
      read_inputs({path("a.npy"), path("b.npy")}, spec_of({"features", {1}, DType::f32}), {});
  EXPECT_EQ(read.rows, (Rows{{1}, {3}, {-1}}));
  EXPECT_EQ(read.origins[1].row, 1);
  EXPECT_EQ(read.origins[2].row, 0);
  EXPECT_EQ(read.origins[2].file.name, "b.npy");
}

TEST_F(Arrays, NumbersThatAreInfiniteAsTheModelReadsThemAreRefused) {
  write_npy(folder_ / "a.npy", "<f8", "(2, 1)", std::vector<double>{3, 1e39});
  EXPECT_THAT(message_of(Category::data,
                         [&] {
                           read_inputs({path("a.npy")}, spec_of({"features", {1}, DType::f32}), {});
                         }),
              HasSubstr("a.npy: sample 1: feature 0 is 1e+39, which is too large"));
}

// Files of other kinds may stand between them.
TEST_F(Arrays, MayBeMixedWithTables) {
  write_npy(folder_ / "a.npy", "<f4", "(1, 1)", std::vector<float>{3});
  write_text(folder_ / "t.csv", "x\n5\n7\n");
  SampleSpec spec = spec_of({"features", {1}, DType::f32});
  spec.feature_names = {"x"};
  EXPECT_EQ(read_inputs({path("a.npy"), path("t.csv"), path("a.npy")}, spec, {}).rows,
            (Rows{{1}, {2}, {3}, {1}}));
}

TEST_F(Arrays, ImagesAreInTheUnitOfTheirType) {
  SampleSpec spec = spec_of({"images", {1, 2, 1}, DType::f32});
  spec.normalization = {{0}, {0.5}};
  write_npy(folder_ / "bytes.npy", "|u1", "(1, 1, 2)", std::vector<uint8_t>{0, 255});
  write_npy(folder_ / "words.npy", "<u2", "(1, 1, 2, 1)", std::vector<uint16_t>{65535, 0});
  write_npy(folder_ / "floats.npy", "<f4", "(1, 1, 2, 1)", std::vector<float>{0.25f, 1});
  EXPECT_EQ(read_inputs({path("bytes.npy"), path("words.npy"), path("floats.npy")}, spec, {}).rows,
            (Rows{{0, 2}, {2, 0}, {0.5, 2}}));
}

// As of a model that was trained on pixels from 0 to 1. A spec may have no target.
TEST_F(Arrays, ImagesWithoutNormalizationAreFractions) {
  SampleSpec spec = spec_of({"images", {1, 2, 1}, DType::f32});
  spec.normalization = {};
  spec.columns.resize(1);
  write_npy(folder_ / "bytes.npy", "|u1", "(1, 1, 2)", std::vector<uint8_t>{0, 255});
  write_npy(folder_ / "floats.npy", "<f4", "(1, 1, 2, 1)", std::vector<float>{0.25f, 1});
  EXPECT_EQ(read_inputs({path("bytes.npy"), path("floats.npy")}, spec, {}).rows,
            (Rows{{0, 1}, {0.25, 1}}));
}

TEST_F(Arrays, OthersAreReportedAndLeftOut) {
  SampleSpec spec = spec_of({"features", {2}, DType::f32});
  write_npy(folder_ / "wide.npy", "<f4", "(1, 3)", std::vector<float>{1, 2, 3});
  write_npy(folder_ / "holes.npy", "<f4", "(2, 2)", std::vector<float>{1, NAN, 1, 1});
  spec.normalization = {{1, 1}, {2, 2}};
  ReadInputs read = read_inputs({path("wide.npy"), path("holes.npy")}, spec, {}, false);
  EXPECT_EQ(read.rows, (Rows{{0, 0}}));
  EXPECT_EQ(read.origins[0].row, 1);
  EXPECT_THAT(read.problems,
              ElementsAre(HasSubstr("float32 (1, 3), but the model reads features of shape (2)"),
                          HasSubstr("holes.npy: sample 0: feature 1 is nan")));
}

TEST_F(Arrays, ArchivesHaveInputsAndTruth) {
  SampleSpec spec = spec_of({"features", {1}, DType::f32});
  spec.classes = 3;
  ZipMember x = {"x_test.npy", npy_bytes("<f4", "(2, 1)", std::vector<float>{3, 7}), true};
  ZipMember y = {"y_test.npy", npy_bytes("<i8", "(2,)", std::vector<int64_t>{2, 0})};
  ZipMember train = {"x_train.npy", npy_bytes("<f4", "(1, 1)", std::vector<float>{9})};
  write_zip(folder_ / "a.npz", {train, x, y});
  ReadInputs read = read_inputs({path("a.npz")}, spec, {});
  EXPECT_EQ(read.rows, (Rows{{1}, {3}}));
  EXPECT_EQ(read.origins[0].label, 2);
  EXPECT_EQ(read.origins[1].label, 0);
  write_zip(folder_ / "a.npz", {train, x});
  DataConfig config;
  config.npy.test = {"x_train", "none"};
  EXPECT_EQ(read_inputs({path("a.npz")}, spec, config).rows, (Rows{{4}}));
  x.name = "arr_0.npy";
  write_zip(folder_ / "a.npz", {x});
  read = read_inputs({path("a.npz")}, spec, {});
  EXPECT_EQ(read.rows, (Rows{{1}, {3}}));
  EXPECT_FALSE(read.origins[0].has_truth());
  y.name = "other.npy";
  write_zip(folder_ / "a.npz", {x, y});
  EXPECT_THAT(
      message_of(Category::data, [&] { read_inputs({path("a.npz")}, spec, {}); }),
      AllOf(HasSubstr("a.npz: there is no array x_test"), HasSubstr("it has 'arr_0', 'other'")));
}

TEST_F(Arrays, TargetsThatDoNotFitAreReported) {
  SampleSpec spec = spec_of({"features", {1}, DType::f32});
  spec.classes = 2;
  ZipMember x = {"x.npy", npy_bytes("<f4", "(2, 1)", std::vector<float>{3, 7})};
  auto says = [&](const Bytes& y) {
    write_zip(folder_ / "a.npz", {x, {"y.npy", y}});
    std::vector<std::string> problems = read_inputs({path("a.npz")}, spec, {}, false).problems;
    return problems.empty() ? "" : problems.front();
  };
  EXPECT_THAT(says(npy_bytes("<i4", "(2,)", std::vector<int32_t>{0, 2})),
              HasSubstr("a.npz: y.npy: sample 1: label 2, expected 0 to 1"));
  EXPECT_THAT(says(npy_bytes("<f4", "(2,)", std::vector<float>{0, 1})),
              HasSubstr("y.npy: it is y.npy: float32 (2), but the model finds a class, a whole"));
  EXPECT_THAT(says(npy_bytes("<i4", "(2, 2)", std::vector<int32_t>{0, 1, 1, 0})),
              HasSubstr("name another one by data.npy.test.target"));
  EXPECT_THAT(says(npy_bytes("<i4", "(3,)", std::vector<int32_t>{0, 1, 1})),
              HasSubstr("y.npy: has 3 rows, but"));
  spec.columns[1] = {"values", {2}, DType::f32};
  EXPECT_THAT(says(npy_bytes("<f4", "(2,)", std::vector<float>{0, 1})),
              HasSubstr("but the model finds 2 values a row"));
  EXPECT_THAT(says(npy_bytes("<f4", "(2, 2)", std::vector<float>{0, 1, NAN, 3})),
              HasSubstr("y.npy: sample 1: value 0 is nan"));
}

class Hdf5Inputs : public Arrays {
 protected:
  // Writes features 3 and 7, in the group, with a target of that name.
  template <typename T>
  void write(const std::string& group, const std::string& target, const std::vector<T>& values) {
    Hdf5File file(folder_ / "a.h5");
    file.put(group + "features", {2, 1}, std::vector<float>{3, 7});
    if (!target.empty()) file.put(group + target, {2}, values);
  }
  ReadInputs read(const SampleSpec& spec, bool stop = true) {
    return read_inputs({path("a.h5")}, spec, config_, stop);
  }

  DataConfig config_;
};

TEST_F(Hdf5Inputs, AreFoundInAnyGroupWithTheirTruth) {
  SampleSpec spec = spec_of({"features", {1}, DType::f32});
  spec.classes = 3;
  for (const char* group : {"test/", "Testing/", "", "train/", "TRAIN/"}) {
    write<int32_t>(group, "labels", {2, 1});
    ReadInputs found = read(spec);
    EXPECT_EQ(found.rows, (Rows{{1}, {3}})) << group;
    EXPECT_EQ(found.origins[0].label, 2);
    write<int32_t>(group, "", {});
    EXPECT_FALSE(read(spec).origins[0].has_truth());
  }
  spec.columns[1] = {"values", {1}, DType::f32};
  write<double>("test/", "goal", {0.5, -1});
  EXPECT_FALSE(read(spec).origins[0].has_truth());
  config_.hdf5.test = {"test/none", "test/goal"};
  EXPECT_THAT(read(spec).origins[1].values, ElementsAre(-1));
}

// Classes and features are compared by name.
TEST_F(Hdf5Inputs, NamesAreThoseOfTheModel) {
  SampleSpec spec = spec_of({"features", {1}, DType::f32});
  spec.classes = 3;
  spec.class_names = {"ant", "bee", "cat"};
  spec.feature_names = {"width"};
  auto with_names = [&](const char* feature, const std::vector<const char*>& classes) {
    Hdf5File file(folder_ / "a.h5");
    file.put("features", {2, 1}, std::vector<float>{3, 7});
    file.put("labels", {2}, std::vector<int32_t>{0, 1});
    file.words("features", "feature_names", {feature});
    file.words("labels", "class_names", classes);
  };
  with_names("width", {"cat", "ant"});
  ReadInputs found = read(spec);
  EXPECT_EQ(found.origins[0].label, 2);
  EXPECT_EQ(found.origins[1].label, 0);
  with_names("width", {"cat", "dog"});
  EXPECT_THAT(
      read(spec, false).problems,
      ElementsAre(HasSubstr("a.h5: labels: its class 'dog' is none of the model's: 'ant'")));
  with_names("height", {"cat", "ant"});
  EXPECT_THAT(
      read(spec, false).problems,
      ElementsAre(HasSubstr("its feature_names are 'height', but the model reads 'width'")));
}

TEST_F(Hdf5Inputs, WithoutAnInputOrDamagedAreReported) {
  SampleSpec spec = spec_of({"features", {1}, DType::f32});
  Hdf5File(folder_ / "a.h5").put("other", {2}, std::vector<float>{1, 2});
  EXPECT_THAT(message_of(Category::data, [&] { read(spec); }),
              AllOf(HasSubstr("a.h5: has no dataset images, features or tokens"),
                    HasSubstr("name it by data.hdf5.test.input")));
  write<int32_t>("", "labels", {2, 1});
  std::filesystem::resize_file(folder_ / "a.h5", 600);
  EXPECT_EQ(read(spec, false).problems.size(), 1u);
}

// The target's column and a folder of a class say what a row is.
TEST_F(Arrays, TablesSayWhatTheirRowsAre) {
  SampleSpec spec = spec_of({"features", {1}, DType::f32});
  spec.feature_names = {"x"};
  spec.class_names = {"1", "two"};
  write_text(folder_ / "t.csv", "x,kind\n5,two\n7,1.0\n9,?\n");
  DataConfig config;
  config.csv.target = "kind";
  ReadInputs read = read_inputs({path("t.csv")}, spec, config);
  EXPECT_EQ(read.origins[0].label, 1);
  EXPECT_EQ(read.origins[1].label, 0);
  EXPECT_FALSE(read.origins[2].has_truth());
  config.csv.target = "last";
  spec.columns[1] = {"values", {1}, DType::f32};
  EXPECT_THAT(read_inputs({path("t.csv")}, spec, config).origins[1].values, ElementsAre(1));
}

}  // namespace
}  // namespace spire
