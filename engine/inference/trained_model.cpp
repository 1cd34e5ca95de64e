#include <spire/trained_model.h>

#include "engine/base/fail.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "engine/data/images/png.h"
#include "engine/inference/predictor.h"
#include "engine/inference/sample_outputs.h"

namespace spire {
namespace {

Existing existing(bool overwrite) {
  return overwrite ? Existing::replace : Existing::keep;
}

int64_t checked_batch(int64_t batch) {
  if (batch < 1) fail(Category::config, "batch: {} rows at a time are less than 1", batch);
  return batch;
}

}  // namespace

struct TrainedModel::Impl {
  Predictor predictor;
};

TrainedModel::TrainedModel(const Checkpoint& checkpoint, const TrainedModelOptions& options)
    : impl_(new Impl{Predictor(checkpoint.loaded()->state, *checkpoint.loaded()->tensors,
                               {.device = options.device,
                                .batch = checked_batch(options.batch),
                                .settings = options.settings,
                                .say = options.say})}) {}

TrainedModel::~TrainedModel() = default;
TrainedModel::TrainedModel(TrainedModel&&) noexcept = default;
TrainedModel& TrainedModel::operator=(TrainedModel&&) noexcept = default;

const RunConfig& TrainedModel::config() const {
  return impl_->predictor.config();
}

const SampleSpec& TrainedModel::data() const {
  return impl_->predictor.spec();
}

// A checkpoint of a program's own model cannot be read: Task::custom is none of these.
ModelTask TrainedModel::task() const {
  switch (impl_->predictor.task()) {
    case Task::regress:
      return ModelTask::regress;
    case Task::predict_tokens:
      return ModelTask::predict_tokens;
    case Task::reconstruct:
      return ModelTask::reconstruct;
    case Task::segment:
      return ModelTask::segment;
    case Task::classify:
    case Task::custom:
      break;
  }
  return ModelTask::classify;
}

std::string TrainedModel::device() const {
  return impl_->predictor.device();
}

const Shape& TrainedModel::output_shape() const {
  return impl_->predictor.output_shape();
}

void TrainedModel::predict(const void* rows, int64_t count, std::span<float> out) {
  impl_->predictor.run(rows, count, out);
}

bool TrainedModel::makes_images() const {
  return has_sample_images(impl_->predictor.task());
}

void TrainedModel::write_comparison(const std::filesystem::path& file, const std::byte* input,
                                    std::span<const float> output, bool overwrite) const {
  write_png(file, grid_of(sample_images(data(), impl_->predictor.task(), input, output), 2),
            existing(overwrite));
}

void TrainedModel::write_result(const std::filesystem::path& file, std::span<const float> output,
                                bool overwrite) const {
  write_png(file, result_image(data(), impl_->predictor.task(), output), existing(overwrite));
}

}  // namespace spire
