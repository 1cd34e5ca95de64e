// The messages of onnx.proto that Spire writes, as bytes of the protocol buffers' wire form.
#pragma once
#include <cstdint>
#include <string>

#include "engine/onnx/onnx_graph.h"

namespace spire {

// A ModelProto is these bytes, in this order. `before_graph` ends where the graph's bytes begin;
// the caller adds their number as a varint.
struct ModelBytes {
  std::string before_graph;  // versions, producer, metadata, the tag of the graph
  std::string graph;         // the graph but its weights, which follow as bytes of the same message
};
ModelBytes model_bytes(const OnnxModel& model);

// Where the values of a weight lie in a second file.
struct ExternalPlace {
  std::string file;  // its name, relative to the model's folder
  uint64_t offset = 0, bytes = 0;
};

// Return one weight as a field of the graph: the first lacks the values, which must follow, 4 bytes
// an element, little-endian; the second is whole.
std::string weight_before_values(const OnnxWeight& weight);
std::string weight_elsewhere(const OnnxWeight& weight, const ExternalPlace& place);

void append_varint(std::string& bytes, uint64_t number);

}  // namespace spire
