// Computes an ONNX model in float64, by the formulas of ONNX's operators
// (https://onnx.ai/onnx/operators/), written for clarity.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/onnx/parsed_onnx.h"

namespace spire {

struct OnnxArray {
  std::vector<int64_t> dims;
  std::vector<double> data;  // row-major

  int64_t size() const { return std::ssize(data); }
};

using OnnxArrays = std::vector<OnnxArray>;
// Computes a node's outputs. inputs: null where the node leaves one out.
using OnnxFormula =
    std::function<OnnxArrays(const ParsedNode& node, const std::vector<const OnnxArray*>& inputs)>;
using OnnxFormulas = std::map<std::string, OnnxFormula>;

OnnxFormulas image_formulas();      // Conv, MaxPool, Resize, ...
OnnxFormulas matrix_formulas();     // MatMul, Softmax, LayerNormalization, Add, Relu, ...
OnnxFormulas shape_formulas();      // Transpose, Reshape, Concat, ...
OnnxFormulas recurrent_formulas();  // LSTM, GRU

// Returns the model's output for its input.
OnnxArray reference_run(const ParsedOnnx& model, const OnnxArray& input);

// Elements of the axes before `axis`, of it, and of those behind it.
struct AxisSplit {
  int64_t before = 1, length = 1, behind = 1;
};
AxisSplit split_at(const OnnxArray& array, int64_t axis);  // a negative axis counts from the end
OnnxArray zeros(std::vector<int64_t> dims);

}  // namespace spire
