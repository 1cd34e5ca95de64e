#include "tests/onnx/reference_run.h"

#include <cstring>
#include <numeric>
#include <stdexcept>

namespace spire {
namespace {

template <typename T>
std::vector<double> numbers_of(const std::string& bytes) {
  std::vector<T> raw(bytes.size() / sizeof(T));
  std::memcpy(raw.data(), bytes.data(), bytes.size());
  return {raw.begin(), raw.end()};
}

OnnxArray array_of(const ParsedInitializer& tensor) {
  constexpr int64_t float32 = 1, int64 = 7;
  if (tensor.type == float32) return {tensor.dims, numbers_of<float>(tensor.bytes)};
  if (tensor.type == int64) return {tensor.dims, numbers_of<int64_t>(tensor.bytes)};
  return {tensor.dims, numbers_of<uint8_t>(tensor.bytes)};  // bool
}

}  // namespace

AxisSplit split_at(const OnnxArray& array, int64_t axis) {
  auto at = static_cast<size_t>(axis < 0 ? axis + std::ssize(array.dims) : axis);
  AxisSplit split{.length = array.dims.at(at)};
  for (size_t i = 0; i < array.dims.size(); ++i) {
    if (i < at) split.before *= array.dims[i];
    if (i > at) split.behind *= array.dims[i];
  }
  return split;
}

OnnxArray zeros(std::vector<int64_t> dims) {
  int64_t size = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  return {std::move(dims), std::vector<double>(static_cast<size_t>(size))};
}

OnnxArray reference_run(const ParsedOnnx& model, const OnnxArray& input) {
  OnnxFormulas formulas = image_formulas();
  formulas.merge(matrix_formulas());
  formulas.merge(shape_formulas());
  formulas.merge(recurrent_formulas());
  std::map<std::string, OnnxArray> known = {{model.inputs.at(0).name, input}};
  for (const ParsedInitializer& tensor : model.initializers) known[tensor.name] = array_of(tensor);
  for (const ParsedNode& node : model.nodes) {
    std::vector<const OnnxArray*> inputs;
    for (const std::string& name : node.inputs)
      inputs.push_back(name.empty() ? nullptr : &known.at(name));
    if (!formulas.contains(node.op)) throw std::runtime_error("no formula of " + node.op);
    OnnxArrays outputs = formulas.at(node.op)(node, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) known[node.outputs.at(i)] = std::move(outputs[i]);
  }
  return known.at(model.outputs.at(0).name);
}

}  // namespace spire
