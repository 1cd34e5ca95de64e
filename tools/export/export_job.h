// One call of trainer export, and the writers of its formats.
#pragma once
#include <atomic>
#include <filesystem>

#include <spire/run_config.h>

#include "engine/base/write_file.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "tools/arguments.h"

namespace spire::tool {

struct ExportJob {
  const ExportArguments& asked;
  std::filesystem::path to;
  const RunConfig& config;             // of the run
  const LoadedCheckpoint& checkpoint;  // of the model alone; for export_adapters() as it was saved
  Existing existing;
  const std::atomic<bool>* stop;  // once true, they throw Error(interrupted)
};

// Each writes whole files or none, and prints what it wrote.
void export_as_onnx(const ExportJob& job);
void export_as_safetensors(const ExportJob& job);
void export_as_npz(const ExportJob& job);
void export_adapters(const ExportJob& job);

}  // namespace spire::tool
