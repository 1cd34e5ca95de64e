// A model in ONNX's form, as the messages of onnx.proto have it, in the host's memory: nodes over
// named tensors, whose weights are only named and read while the file is written.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <spire/tensor.h>

namespace spire {

// Element types, numbered as TensorProto.DataType.
enum class OnnxType : int32_t { float32 = 1, int64 = 7, boolean = 9 };

// One dimension: `size`, or size x the number of samples, which a run of the model chooses.
struct OnnxDim {
  int64_t size = 1;
  bool times_batch = false;
  bool operator==(const OnnxDim&) const = default;
};
using OnnxDims = std::vector<OnnxDim>;

// An input or output of the model.
struct OnnxTensor {
  std::string name;
  OnnxType type = OnnxType::float32;
  OnnxDims dims = {};
};

struct OnnxAttribute {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>> value;
};

struct OnnxNode {
  std::string op;    // "Conv"
  std::string name;  // unique among the nodes: "conv1.Conv"
  std::vector<std::string> inputs, outputs;
  std::vector<OnnxAttribute> attributes = {};
};

// A tensor with a known content that is no weight: a shape, a factor, a mask.
struct OnnxConstant {
  std::string name;
  OnnxType type = OnnxType::int64;
  std::vector<int64_t> dims = {};
  std::string bytes = {};  // little-endian
};

struct OnnxWeight {  // fp32
  std::string name;
  Shape shape;
};

struct OnnxGraph {
  std::string name;
  std::vector<OnnxNode> nodes;  // in an order in which they can run
  OnnxTensor input, output;
  std::vector<OnnxConstant> constants;
  std::vector<OnnxWeight> weights;
};

struct OnnxModel {
  OnnxGraph graph;
  int64_t opset = 0;
  std::string producer_version = {}, doc = {};
  std::vector<std::pair<std::string, std::string>> metadata = {};  // key, text in UTF-8
};

// Versions of ONNX's operator set that an exported model can ask for. 18 is the first in which
// Resize takes sizes of single axes, 20 the first with Gelu.
inline constexpr int64_t min_opset = 18, max_opset = 23, default_opset = 20;

}  // namespace spire
