// Writes a trained model as an ONNX file, which other programs run: docs/exporting.md says what it
// contains.
#pragma once
#include <atomic>
#include <filesystem>
#include <optional>
#include <string>

#include <spire/run_config.h>

#include "engine/checkpoint/training_state.h"
#include "engine/onnx/onnx_file.h"
#include "engine/onnx/onnx_graph.h"

namespace spire {

struct OnnxOptions {
  int64_t opset = default_opset;
  int64_t batch = 0;  // fixed number of samples of a run of the model; 0: any number
  // true: the averaged weights (ema.decay); false: as trained; nullopt: averaged if there are any.
  std::optional<bool> averaged = {};
  OnnxFileOptions file = {};
  std::string producer_version = {};
  const std::atomic<bool>* stop = nullptr;  // once true, the export ends with Error(interrupted)
};

// Translates the graph of the run's model in inference. Throws Error(config) for an opset out of
// range, and for an op without an emitter.
OnnxModel onnx_model(const RunConfig& config, const StateMetadata& state,
                     const OnnxOptions& options);

struct ExportedOnnx {
  OnnxTensor input, output;
  WrittenOnnx file;
  size_t tensors = 0;   // weights and statistics
  int64_t numbers = 0;  // their elements
  bool averaged = false;
};

// config: the run's. Writes whole or not at all. Throws Error(checkpoint) for tensors that do not
// fit the model, or if averaged weights are asked for and there are none, and what onnx_model() and
// write_onnx() throw.
ExportedOnnx export_onnx(const std::filesystem::path& path, const RunConfig& config,
                         const StateMetadata& state, const SavedTensors& tensors,
                         const OnnxOptions& options);

std::string to_string(const OnnxTensor& tensor);  // "images float32 (batch, 3, 32, 32)"

}  // namespace spire
