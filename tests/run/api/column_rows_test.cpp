// What a batch tells of its rows is compared with the data's columns, in each call.
#include <cstdint>
#include <type_traits>
#include <vector>

#include "tests/run/api/point_data.h"

namespace spire {
namespace {

static_assert(std::is_constructible_v<ColumnRows, const double*>);
static_assert(!std::is_constructible_v<ColumnRows, const int64_t*>);  // no column has such numbers

struct PointTrainer {
  PointData data{16};
  std::vector<float> wide = std::vector<float>(8 * 9, 1);
  std::vector<double> doubles = std::vector<double>(8 * 3, 1);
  Trainer trainer{point_config(), data.spec()};

  Array features(Shape shape) const { return array("features", data.features.data(), shape); }
  Array values(Shape shape) const { return array("values", data.values.data(), shape); }

  void expect_refused(const std::string& words, const ColumnRows& features,
                      const ColumnRows& values) {
    Samples samples{{features, values}, 8};
    expect_error(Category::config, words, [&] { trainer.step(samples); });
    expect_error(Category::config, words, [&] { trainer.evaluate(samples); });
  }
};

TEST(ColumnRows, ArraysTrainAsPointersDo) {
  PointTrainer with;
  Trainer by_pointers(point_config(), with.data.spec());
  Samples arrays{{with.features({8, 3}), with.values({8, 1})}, 8};
  EXPECT_EQ(with.trainer.step(arrays).loss, by_pointers.step(with.data.rows(0, 8)).loss);
  EXPECT_EQ(with.trainer.evaluate(arrays).loss, by_pointers.evaluate(with.data.rows(0, 8)).loss);
  EXPECT_EQ(with.trainer.predict(with.features({16, 3}), 16),
            by_pointers.predict(with.data.features.data(), 16));
}

TEST(ColumnRows, OfAnotherShapeAreRefused) {
  PointTrainer with;
  with.expect_refused("column 'features': the shape of its array is (8, 9); it must be (8, 3)",
                      array("features", with.wide.data(), {8, 9}), with.values({8, 1}));
  with.expect_refused("column 'features': the shape of its array is (4, 3); it must be (8, 3)",
                      with.features({4, 3}), with.values({8, 1}));
  with.expect_refused("column 'values': the shape of its array is (8); it must be (8, 1)",
                      with.features({8, 3}), with.values({8}));
  with.expect_refused("column 'features': its array is not dense",
                      array("features", with.wide.data(), {8, 3}, {9, 1}), with.values({8, 1}));
  with.expect_refused("column 'features': its array is that of column 'values'",
                      with.values({8, 1}), with.values({8, 1}));
  expect_error(Category::config, "the shape of its array is (8, 9); it must be (8, 3)", [&] {
    with.trainer.predict(array("features", with.wide.data(), {8, 9}), 8);
  });
  EXPECT_EQ(with.trainer.step(with.data.rows(0, 8)).step, 1);  // nothing has changed
}

TEST(ColumnRows, OfAnotherDtypeAreRefused) {
  PointTrainer with;
  std::vector<int32_t> whole(8);
  with.expect_refused("column 'features': its numbers are fp64; convert them to fp32",
                      with.doubles.data(), with.data.values.data());
  with.expect_refused("column 'values': its numbers are int32; convert them to fp32",
                      with.data.features.data(), whole.data());
  with.expect_refused("column 'features': its numbers are fp64",
                      array("features", with.doubles.data(), {8, 3}), with.values({8, 1}));
  expect_error(Category::config, "its numbers are fp64",
               [&] { with.trainer.predict(with.doubles.data(), 8); });
}

TEST(ColumnRows, AColumnThatIsDeclaredOtherwiseIsRefused) {
  PointData data(8);
  for (DType dtype : {DType::f64, DType::i32, DType::u8}) {
    SampleSpec spec = data.spec();
    spec.columns[0].dtype = dtype;
    expect_error(
        Category::config,
        fmt::format("column 'features' is declared {}; batches have it as fp32", name(dtype)),
        [&] { Trainer trainer(point_config(), spec); });
    spec = data.spec();
    spec.columns[1].dtype = dtype;
    expect_error(Category::config, "column 'values' is declared",
                 [&] { Trainer trainer(point_config(), spec); });
  }
  SampleSpec spec = data.spec();
  spec.columns[1] = {"labels", {}, DType::f32};
  expect_error(Category::config, "column 'labels' is declared fp32; batches have it as int32",
               [&] { Trainer trainer(point_config(), spec); });
  spec = data.spec();
  spec.columns[0].shape = {-3};
  expect_error(Category::config, "the shape (-3) of column 'features' has no elements",
               [&] { Trainer trainer(point_config(), spec); });
}

}  // namespace
}  // namespace spire
