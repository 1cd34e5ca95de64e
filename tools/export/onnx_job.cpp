#include "build_info.h"
#include "engine/observe/formatting.h"
#include "engine/onnx/export_onnx.h"
#include "tools/export/export_job.h"
#include "tools/output/streams.h"

namespace spire::tool {

void export_as_onnx(const ExportJob& job) {
  OnnxOptions options;
  options.opset = job.asked.opset.value_or(default_opset);
  options.batch = job.asked.batch.value_or(0);
  options.averaged = job.asked.ema;
  options.file.existing = job.existing;
  if (job.asked.external_data) options.file.weights = WeightPlace::beside;
  options.producer_version = build_info::version;
  options.stop = job.stop;
  ExportedOnnx exported =
      export_onnx(job.to, job.config, job.checkpoint.state, *job.checkpoint.tensors, options);
  const WrittenOnnx& file = exported.file;
  TextTable files = {{job.to.string(), bytes_text(static_cast<int64_t>(file.bytes))}};
  if (!file.data.empty())
    files.push_back({file.data.string(), bytes_text(static_cast<int64_t>(file.data_bytes))});
  if (!file.unused.empty())
    print_log(
        "warning: {}: is not of this model, whose weights are all in its file; remove it if nobody "
        "needs it\n",
        file.unused.string());
  Sections sections;
  sections.add("written", files);
  if (!file.removed.empty()) sections.add("removed", file.removed.string());
  sections.add("input", to_string(exported.input));
  sections.add("output", to_string(exported.output));
  sections.add("weights",
               fmt::format("{} numbers in {} tensors of step {}{}", count_text(exported.numbers),
                           exported.tensors, count_text(job.checkpoint.state.step),
                           exported.averaged ? ", averaged (ema.decay)" : ""));
  print_result("{}", sections.text());
}

}  // namespace spire::tool
