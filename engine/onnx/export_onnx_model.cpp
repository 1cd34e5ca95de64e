// ONNX models for export_model().
#include "engine/onnx/export_job.h"
#include "engine/onnx/export_onnx.h"

namespace spire {

ExportedModel export_as_onnx(const ExportJob& job) {
  OnnxOptions options;
  options.opset = job.asked.opset.value_or(usual_onnx_opset);
  options.batch = job.asked.batch.value_or(0);
  options.averaged = job.asked.averaged;
  options.file.existing = job.existing();
  if (job.asked.external_data) options.file.weights = WeightPlace::beside;
  options.producer_version = SPIRE_VERSION;
  options.stop = job.asked.stop;
  ExportedOnnx exported =
      export_onnx(job.to, job.config, job.checkpoint.state, *job.checkpoint.tensors, options);
  const WrittenOnnx& file = exported.file;
  ExportedModel result;
  result.files = {{job.to, static_cast<int64_t>(file.bytes)}};
  if (!file.data.empty())
    result.files.push_back({file.data, static_cast<int64_t>(file.data_bytes)});
  if (!file.unused.empty())
    result.warnings.push_back(fmt::format(
        "{}: is not of this model, whose weights are all in its file; remove it if nobody needs it",
        file.unused.string()));
  result.removed = file.removed;
  result.input = to_string(exported.input);
  result.output = to_string(exported.output);
  result.tensors = static_cast<int64_t>(exported.tensors);
  result.numbers = exported.numbers;
  result.averaged = exported.averaged;
  return result;
}

}  // namespace spire
