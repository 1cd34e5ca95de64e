// One call of export_model(), the writers of its formats, and what they read: the model's graph,
// and the choice of its weights.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <spire/export_model.h>

#include "engine/base/write_file.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "engine/checkpoint/training_state.h"
#include "engine/data/sample.h"
#include "engine/graph/graph.h"
#include "engine/weights/files/weight_writers.h"

namespace spire {

struct ExportJob {
  const ExportOptions& asked;
  std::filesystem::path to;
  const RunConfig& config;             // of the run
  const LoadedCheckpoint& checkpoint;  // adapters merged; for export_adapters() as it was saved

  Existing existing() const { return asked.overwrite ? Existing::replace : Existing::keep; }
};

// Each writes whole files or none.
ExportedModel export_as_onnx(const ExportJob& job);
ExportedModel export_as_safetensors(const ExportJob& job);
ExportedModel export_as_npz(const ExportJob& job);
ExportedModel export_adapters(const ExportJob& job);

// Wraps TensorToWrite::read: it throws Error(interrupted) once ExportOptions::stop is true.
void make_stoppable(std::vector<TensorToWrite>& tensors, const ExportJob& job);
int64_t elements_of(const std::vector<TensorToWrite>& tensors);

WrittenFile written_file(const std::filesystem::path& path);  // with its size

// Returns the model's graph in inference, before any pass, in fp32 whatever the run computed in.
Graph inference_graph(const RunConfig& config, const SampleSpec& spec, int64_t batch);

// Returns whether to write the averaged weights. asked: averaged or not; nullopt: averaged if there
// are any. Throws Error(checkpoint) if they are asked for and there are none.
bool takes_average(const SavedTensors& saved, std::optional<bool> asked);

}  // namespace spire
