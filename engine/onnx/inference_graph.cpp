#include "engine/onnx/inference_graph.h"

#include <spire/error.h>

#include "models/model.h"

namespace spire {

Graph inference_graph(const RunConfig& config, const SampleSpec& spec, int64_t batch) {
  ModelInput input{.columns = unpacked_columns(spec.columns),
                   .classes = spec.classes,
                   .batch = batch,
                   .dtype = DType::f32,
                   .table = spec.table,
                   .target_scale = spec.target_scale};
  for (Column& column : input.columns)
    if (is_float_type(column.dtype)) column.dtype = DType::f32;
  return build_model(config.model, config.loss, input, false);
}

bool takes_average(const SavedTensors& saved, std::optional<bool> asked) {
  bool there = find_group(saved, std::string(optimizer_groups) + average_slot).has_value();
  if (asked == true && !there)
    fail(Category::checkpoint,
         "the checkpoint has no averaged weights, as its run did not set ema.decay; leave out "
         "--ema");
  return there && asked.value_or(true);
}

}  // namespace spire
