// Writes an OnnxModel as a file, in the wire form of protocol buffers
// (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto), while its weights are read in parts.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "engine/base/write_file.h"
#include "engine/onnx/onnx_graph.h"

namespace spire {

// Fills `out` with the values from element `begin` on of graph.weights[weight]. May throw.
using ReadWeight = std::function<void(size_t weight, int64_t begin, std::span<float> out)>;

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
  // "<path>.data" where this model has no second file: removed, as the replaced model's; or left
  // where it is, as no model's that is known. Empty if there was none.
  std::filesystem::path removed = {}, unused = {};
};

// Writes the file, or both, whole or not at all; each weight is read once, in order. Where the last
// step of replacing two files fails, neither the old model nor the new one is there. Throws
// Error(device) for a full disk, Error(config) if a file cannot be written for another reason or,
// with Existing::keep, is there already (the second one also without a model); with
// WeightPlace::inside also if the model is too large, or if it is without its weights; and what
// `read` throws.
WrittenOnnx write_onnx(const std::filesystem::path& path, const OnnxModel& model,
                       const ReadWeight& read, const OnnxFileOptions& options);

}  // namespace spire
