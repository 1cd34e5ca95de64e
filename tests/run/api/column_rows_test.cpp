// What a batch tells of its rows is compared with the data's columns, in each call.
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "tests/run/api/point_data.h"

namespace spire {
namespace {

static_assert(std::is_constructible_v<ColumnRows, const double*>);
static_assert(!std::is_constructible_v<ColumnRows, const int64_t*>);  // no column has such numbers

struct PointTrainer {
  PointData data{16};
  std::vector<float> wide = std::vector<float>(8 * 9, 1);
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
  with.expect_refused("column 'features': its array has 1 strides for 2 axes",
                      array("features", with.wide.data(), {8, 3}, {9}), with.values({8, 1}));
  with.expect_refused("column 'features': its array is that of column 'values'",
                      with.values({8, 1}), with.values({8, 1}));
  expect_error(Category::config, "the shape of its array is (8, 9); it must be (8, 3)", [&] {
    with.trainer.predict(array("features", with.wide.data(), {8, 9}), 8);
  });
  EXPECT_EQ(with.trainer.step(with.data.rows(0, 8)).step, 1);  // nothing has changed
}

// Columns of a matrix, doubles and whole numbers stand for the floats that they are.
TEST(ColumnRows, OfAnyStridesAndDtypesTrainAsDenseFloatsDo) {
  PointData data(16);
  for (float& value : data.values) value = std::round(value);
  std::vector<double> doubles(data.features.begin(), data.features.end());
  std::vector<float> planes(48);
  for (size_t i = 0; i < 16; ++i)
    for (size_t f = 0; f < 3; ++f) planes[16 * f + i] = data.features[3 * i + f];
  std::vector<int32_t> whole(data.values.begin(), data.values.end());
  std::vector<ColumnRows> forms = {doubles.data(), array("features", doubles.data(), {8, 3}),
                                   array("features", planes.data(), {8, 3}, {1, 16})};
  for (auto precision : {RunConfig::Precision::fp32, RunConfig::Precision::bf16}) {
    RunConfig config = point_config();
    config.precision = precision;
    Trainer dense(config, data.spec());
    double loss = dense.step(data.rows(0, 8)).loss;
    for (const ColumnRows& features : forms) {
      Trainer trainer(config, data.spec());
      EXPECT_EQ(trainer.step({{features, whole.data()}, 8}).loss, loss);
      EXPECT_EQ(trainer.predict(features, 8), dense.predict(data.features.data(), 8));
    }
  }
}

// A column of bytes stays one, of any strides, and takes nothing else.
TEST(ColumnRows, OwnColumnsKeepTheirDtype) {
  auto model = std::make_shared<Model>();
  model->name = "bytes";
  model->layers = [](Graph& graph, const ModelInputs& inputs) {
    return dense(graph, "dense", inputs["features"], 1);
  };
  SampleSpec spec = PointData(8).spec();
  spec.columns.insert(spec.columns.begin() + 1, {"marks", {2}, DType::u8});
  Trainer trainer(point_config(), spec, {.model = model});
  PointData data(8);
  std::vector<uint8_t> marks(16);
  std::vector<int32_t> whole(16);
  auto by_column = array("marks", marks.data(), {8, 2}, {1, 8});
  trainer.step({{data.features.data(), by_column, data.values.data()}, 8});
  expect_error(Category::config, "column 'marks': its numbers are int32; convert them to uint8",
               [&] {
                 trainer.step({{data.features.data(), whole.data(), data.values.data()}, 8});
               });
}

TEST(ColumnRows, FractionsAreNoClasses) {
  SampleSpec spec;
  spec.columns = {{"features", {3}, DType::f32}, {"labels", {}, DType::i32}};
  spec.classes = 4;
  Trainer trainer(point_config(), spec);
  PointData data(8);
  std::vector<double> fractions(8);
  std::vector<uint8_t> bytes = {0, 1, 2, 3, 0, 1, 2, 3};
  expect_error(Category::config, "column 'labels': its numbers are fp64; convert them to int32",
               [&] {
                 trainer.step({{data.features.data(), fractions.data()}, 8});
               });
  trainer.step({{data.features.data(), bytes.data()}, 8});
  bytes[5] = 4;
  expect_error(Category::data, "sample 5: column 'labels' has 4; numbers are 0 to 3", [&] {
    trainer.step({{data.features.data(), bytes.data()}, 8});
  });
}

TEST(ColumnRows, AColumnThatIsDeclaredOtherwiseIsRefused) {
  PointData data(8);
  for (DType dtype : {DType::f64, DType::i32, DType::u8}) {
    SampleSpec spec = data.spec();
    spec.columns[0].dtype = dtype;
    expect_error(Category::config,
                 fmt::format("column 'features' is declared {}; declare fp32", to_string(dtype)),
                 [&] { Trainer trainer(point_config(), spec); });
    spec = data.spec();
    spec.columns[1].dtype = dtype;
    expect_error(Category::config, "column 'values' is declared",
                 [&] { Trainer trainer(point_config(), spec); });
  }
  SampleSpec spec = data.spec();
  spec.columns[1] = {"labels", {}, DType::f32};
  expect_error(Category::config, "column 'labels' is declared fp32; declare int32",
               [&] { Trainer trainer(point_config(), spec); });
  spec = data.spec();
  spec.columns[0].shape = {-3};
  expect_error(Category::config, "the shape (-3) of column 'features' has no elements",
               [&] { Trainer trainer(point_config(), spec); });
}

}  // namespace
}  // namespace spire
