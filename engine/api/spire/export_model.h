// Writes a trained model in the form that other programs read: ONNX, safetensors or NumPy's .npz
// (docs/exporting.md).
#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <spire/checkpoint.h>
#include <spire/export.h>
#include <spire/run_config.h>

namespace spire {

// Versions of ONNX's operator set that an exported model can ask for.
inline constexpr int64_t least_onnx_opset = 18, most_onnx_opset = 23, usual_onnx_opset = 20;

struct ExportOptions {
  // true: the averaged weights (ema.decay); false: as trained; nullopt: averaged if the run has
  // them.
  std::optional<bool> averaged = {};
  std::optional<int64_t> batch = {};  // ONNX: fixed size of a batch; 0 or nullopt: any size
  std::optional<int64_t> opset = {};  // ONNX; nullopt: usual_onnx_opset
  // ONNX: weights in a second file, "<file>.data", which must stay beside the model. Models of more
  // than 2 GiB always have one.
  bool external_data = false;
  // safetensors, npz: whose names and layouts: auto, spire, pytorch, torchvision or huggingface
  // (docs/weights.md). Empty: auto for safetensors, spire for npz.
  std::string names = {};
  // safetensors, of a run with adapt.lora: the adapters alone, as adapter_model.safetensors and
  // adapter_config.json for Hugging Face's PEFT. false: they are merged into the weights.
  bool adapters_apart = false;
  bool overwrite = false;  // replace files that exist and are not empty
  const std::atomic<bool>* stop =
      nullptr;  // once true, the export ends with Error(interrupted); null: never
};

struct WrittenFile {
  std::filesystem::path path;
  int64_t bytes = 0;
};

struct ExportedModel {
  std::vector<WrittenFile> files;
  int64_t step = 0;                            // of the checkpoint
  int64_t tensors = 0, numbers = 0;            // weights and running statistics, and their elements
  bool averaged = false;                       // whether the weights are averaged ones
  std::string input = {}, output = {};         // ONNX: "images float32 (batch, 3, 32, 32)"
  std::string names = {};                      // safetensors, npz: the names used, auto resolved
  int64_t adapted_modules = 0, lora_rank = 0;  // adapters_apart
  // ONNX: "<file>.data" of the replaced model, deleted because this model has no second file.
  std::filesystem::path removed = {};
  std::vector<std::string> warnings = {};
};

// Checks the file's ending and whether the options fit it; needs no checkpoint. Throws
// Error(config).
SPIRE_API void check_export(const std::filesystem::path& file, const ExportOptions& options);

// Writes the model of a checkpoint. The ending of `file` chooses the format: .onnx, .safetensors or
// .npz. config: of the checkpoint's run. Makes missing parent folders. Writes whole files or none.
// Blocks. Any thread may call it. Messages name options as the command line of `trainer export`
// does (--opset). Throws Error(config) for another ending, an option that is out of range or does
// not apply to the format, names for which the model has no counterpart, and a file that exists or
// cannot be written; Error(checkpoint) for tensors that do not fit the model, weights that are not
// finite, and averaged weights where there are none; Error(device) for a full disk.
SPIRE_API ExportedModel export_model(const Checkpoint& checkpoint, const RunConfig& config,
                                     const std::filesystem::path& file,
                                     const ExportOptions& options = {});

}  // namespace spire
