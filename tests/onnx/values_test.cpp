// An exported model computes what Spire computes: by the formulas of ONNX's operators in float64.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "engine/inference/predictor.h"
#include "engine/onnx/export_onnx.h"
#include "tests/base/folder.h"
#include "tests/onnx/exported_models.h"
#include "tests/onnx/reference_run.h"

namespace spire {
namespace {

// (N, H, W, C) as (N, C, H, W), and other arrays as they are. image: without N.
OnnxArray onnx_order(std::vector<double> data, int64_t samples, const Shape& row) {
  OnnxArray array{{samples}, std::move(data)};
  array.dims.insert(array.dims.end(), row.dims().begin(), row.dims().end());
  if (row.rank() != 3) return array;
  ParsedNode transpose;
  transpose.attributes["perm"].ints = {0, 3, 1, 2};
  return shape_formulas().at("Transpose")(transpose, {&array})[0];
}

class OnnxValues : public testing::TestWithParam<ExportCase> {};

// 18: gelu by other operators.
TEST_P(OnnxValues, AreThoseOfSpire) {
  constexpr int64_t samples = 2;
  ModelToExport made = made_model(GetParam().words);
  Predictor predictor(made.state, made.state, {.device = "cpu", .batch = samples});
  const Column& column = predictor.spec().columns[0];
  const Shape& result = predictor.output_shape();
  int64_t count = samples * column.shape.elements();
  std::vector<float> outputs(static_cast<size_t>(samples * result.elements()));
  OnnxArray input;
  if (column.dtype == DType::i32) {
    auto tokens = random_tokens(count, made.spec.classes);
    predictor.run(tokens.data(), samples, outputs);
    input = onnx_order({tokens.begin(), tokens.end()}, samples, column.shape);
  } else {
    auto rows = random_numbers(count, 7);
    predictor.run(rows.data(), samples, outputs);
    input = onnx_order({rows.begin(), rows.end()}, samples, column.shape);
  }
  OnnxArray expected = onnx_order({outputs.begin(), outputs.end()}, samples, result);
  double largest = 0;
  for (double value : expected.data) largest = std::max(largest, std::abs(value));
  Folder scratch;
  for (int64_t opset : {18, 20}) {
    export_onnx(scratch / "m.onnx", made.config, made.state, made.state,
                {.opset = opset, .file = {.existing = Existing::replace}});
    OnnxArray found = reference_run(parse_onnx(scratch / "m.onnx"), input);
    ASSERT_EQ(found.dims, expected.dims);
    double difference = 0;
    for (size_t i = 0; i < found.data.size(); ++i)
      difference = std::max(difference, std::abs(found.data[i] - expected.data[i]));
    EXPECT_LT(difference, 1e-5 * largest) << "opset " << opset;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, OnnxValues, testing::ValuesIn(export_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
