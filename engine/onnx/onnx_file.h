// Writes an OnnxModel as a file, in the wire form of protocol buffers
// (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto), while its weights are read in parts.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "engine/base/write_file.h"
#include "engine/onnx/onnx_graph.h"
#include "engine/weights/files/weight_writers.h"

namespace spire {

enum class WeightPlace : uint8_t { automatic, inside, beside };

struct OnnxFileOptions {
  Existing existing = Existing::keep;
  // beside: weights of 1 KiB or more lie in a second file, "<path>.data", which must stay in the
  // model's folder (ONNX calls it external data). automatic: only if the model would not fit into
  // the 2 GiB that readers of protocol buffers accept.
  WeightPlace weights = WeightPlace::automatic;
};

struct WrittenOnnx {
  uint64_t bytes = 0;               // of the file
  std::filesystem::path data = {};  // the second file; empty if there is none
  uint64_t data_bytes = 0;
  // If this model has no second file and "<path>.data" was there: `removed` if it belonged to the
  // replaced model and was deleted, `unused` if it was left in place. Else empty.
  std::filesystem::path removed = {}, unused = {};
};

// Writes the file, or both, whole or not at all. weights: of the graph, in its order; each is read
// once. If the last step of replacing two files fails, neither the old model nor the new one is
// there. Throws Error(device) for a full disk; Error(config) if a file cannot be written for
// another reason, if with Existing::keep one is there already (also the second one alone), and if
// the model is larger than 2 GiB with WeightPlace::inside, or even without its weights; and what
// reading throws.
WrittenOnnx write_onnx(const std::filesystem::path& path, const OnnxModel& model,
                       std::span<const TensorToWrite> weights, const OnnxFileOptions& options);

// The messages of onnx.proto that Spire writes, as bytes of the protocol buffers' wire form.

// The bytes of a ModelProto: `before_graph`, the size of the graph as a varint, which the caller
// adds, `graph`, and the weights.
struct ModelBytes {
  std::string before_graph;  // versions, producer, metadata, the tag of the graph
  std::string graph;         // the graph without its weights, which follow in the same message
};
ModelBytes model_bytes(const OnnxModel& model);

// Where the values of a weight lie in a second file.
struct ExternalPlace {
  std::string file;  // its name, relative to the model's folder
  uint64_t offset = 0, bytes = 0;
};

// Return one weight as a field of the graph. After weight_before_values() the values must follow,
// 4 bytes an element, little-endian; weight_elsewhere() is complete.
std::string weight_before_values(const OnnxWeight& weight);
std::string weight_elsewhere(const OnnxWeight& weight, const ExternalPlace& place);

void append_varint(std::string& bytes, uint64_t number);

}  // namespace spire
