// One call of export_model(), and the writers of its formats.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <spire/export_model.h>

#include "engine/base/write_file.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "engine/weights/files/weight_writers.h"

namespace spire {

struct ExportJob {
  const ExportOptions& asked;
  std::filesystem::path to;
  const RunConfig& config;             // of the run
  const LoadedCheckpoint& checkpoint;  // of the model alone; for export_adapters() as it was saved

  Existing existing() const { return asked.overwrite ? Existing::replace : Existing::keep; }
};

// Each writes whole files or none.
ExportedModel export_as_onnx(const ExportJob& job);
ExportedModel export_as_safetensors(const ExportJob& job);
ExportedModel export_as_npz(const ExportJob& job);
ExportedModel export_adapters(const ExportJob& job);

// Makes the reading of the tensors end with Error(interrupted) once ExportOptions::stop is true.
void make_stoppable(std::vector<TensorToWrite>& tensors, const ExportJob& job);
int64_t elements_of(const std::vector<TensorToWrite>& tensors);

WrittenFile written_file(const std::filesystem::path& path);  // with its size

}  // namespace spire
