// Checks arrays of NumPy as input of a model.
#include <gmock/gmock.h>

#include "tests/data/formats/npy_files.h"
#include "tests/inference/input_files.h"

namespace spire {
namespace {

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

  TemporaryFolder folder_;
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
