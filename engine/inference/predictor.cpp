#include "engine/inference/predictor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/base/processor.h"
#include "engine/checkpoint/training_state.h"
#include "engine/config/check.h"
#include "engine/config/devices.h"
#include "engine/train/memory/memory_limits.h"
#include "engine/train/model_graph.h"
#include "engine/train/placement/place_run.h"
#include "engine/train/run_tuning.h"
#include "engine/train/state_tensors.h"
#include "models/adapters.h"

namespace spire {
namespace {

// Parses the config of a checkpoint.
RunConfig config_of(const StateMetadata& state) {
  try {
    return parse_config({{"the checkpoint's config", state.config_yaml}}, {}).config;
  } catch (const Error& error) {
    fail(Category::checkpoint,
         "{}; the checkpoint was written by a version of Spire with other keys, use that version",
         error.what());
  }
}

// A precision that the device does not compute, where another one gives nearly the same outputs.
bool becomes_fp32(const RunConfig& config, const Placement& placement) {
  return config.precision == RunConfig::Precision::fp16 &&
         placement.devices[0].id.kind == DeviceKind::cpu;
}

bool wait_seconds(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return true;
}

// Inputs that the training run read in its half precision are read in that of the predictions.
void read_in(DType now, DType of_run, std::vector<Column>& columns) {
  if (of_run == DType::f32) return;
  for (Column& column : columns)
    if (column.dtype == of_run) column.dtype = now;
}

// Whether the word means one of those devices that there are, so that a note says which.
bool leaves_open(const std::string& word) {
  auto group = gpu_group(word);
  return word == "auto" || (group && (!group->count || group->idle));
}

// Returns the shape of one sample's output. A token model has T rows per sample:
// (N T, V) -> (T, V).
Shape row_shape(const Shape& output, int64_t batch) {
  std::vector<int64_t> dims(output.dims().begin() + 1, output.dims().end());
  int64_t rows = output[0] / batch;
  if (rows != 1) dims.insert(dims.begin(), rows);
  return Shape(dims);
}

}  // namespace

Predictor::Predictor(const StateMetadata& state, const SavedTensors& tensors,
                     const PredictorOptions& options)
    : config_(config_of(state)),
      spec_(sample_spec_from_text(state.data_spec)),
      task_(task_of(config_.model, spec_.columns)),
      batch_(options.text ? 1 : options.batch) {
  require_processor();
  GraphBuilder build = [&](int64_t batch, bool training) {
    ModelInput input{.columns = unpacked_columns(spec_.columns),
                     .classes = spec_.classes,
                     .batch = batch,
                     .dtype = compute_dtype(config_),
                     .table = spec_.table,
                     .target_scale = spec_.target_scale};
    return build_model(config_.model, config_.loss, input, training);
  };
  DType of_run = compute_dtype(config_);
  Placement placement = place(options);
  read_in(compute_dtype(config_), of_run, spec_.columns);
  layout_ = make_layout(build, batch_);
  team_ = std::make_unique<LaneTeam>(placement.lanes);
  DeviceId device = team_->spec(0).device;
  make_pool(placement.devices[0]);
  replica_ = std::make_unique<Replica>(layout_);
  Observer silent;
  bool gpu = device.kind == DeviceKind::cuda;
  tuning_ =
      open_tuning(config_.cuda, {.recorded = state.tuning, .gpus = gpu, .first = false}, silent);
  cuda_ = open_cuda_libraries(
      device, {.tf32 = config_.cuda.tf32,
               .cudnn_attention = config_.cuda.attention == CudaConfig::Attention::automatic,
               .tuning = tuning_.get()});
  // Work on the device runs on the lane: memory lies on its NUMA node, and CUDA has its context.
  team_->lead([&] {
    const LaneSpec& lane = team_->spec(0);
    if (options.text)
      decoder_ = TokenDecoder::make(build, lane, layout_, *replica_, cuda_.get(), options.batch);
    if (!decoder_)
      pass_ = std::make_unique<ForwardPass>(build(batch_, false), lane, layout_, *replica_,
                                            cuda_.get());
    replica_->allocate(*memory_);
    decoder_ ? decoder_->allocate(*memory_) : pass_->allocate(*memory_);
    load(tensors);
    auto stream = make_stream(device);
    replica_->forms.pack_for_evaluation(replica_->values(), 0, 1, *stream);
    stream->synchronize();
  });
  output_shape_ = decoder_ ? decoder_->output_shape() : row_shape(pass_->output_shape(), batch_);
  padded_.resize(spec_.columns[0].row_bytes() * static_cast<size_t>(batch_));
}

// Places one tower on all cores of one device.
Placement Predictor::place(const PredictorOptions& options) {
  if (const RunConfig* settings = options.settings) {
    config_.on_missing = settings->on_missing;
    config_.timeouts.devices = settings->timeouts.devices;
    config_.memory.limit = settings->memory.limit;
    config_.precision = settings->precision;
    config_.cuda = settings->cuda;
  }
  auto say = [&](std::string_view line) {
    if (options.say) options.say(line);
  };
  RunConfig config = config_;
  config.devices = {options.device};
  config.batch_size = options.batch;
  config.global_batch = options.batch;
  config.towers = 1;
  config.tower_threads = {};
  config.parameter_device = "auto";
  config.precision = RunConfig::Precision::fp32;  // of the device, once it is known
  check_config(config);
  claims_ = std::make_unique<GpuClaims>();
  RunPlacement placed = place_run(config, RankGroup(nullptr, nullptr), {},
                                  {.claims = *claims_, .wait = wait_seconds, .say = say});
  const PlacedDevice& device = placed.placement.devices[0];
  bool gpu = device.id.kind == DeviceKind::cuda;
  if (placed.placement.fell_back) say(placed.placement.note);
  if (gpu && leaves_open(options.device))
    say(fmt::format("computes on {} ({})", to_string(device.id), device.description));
  for (const std::string& warning : placed.warnings) say("warning: " + warning);
  if (becomes_fp32(config_, placed.placement)) {
    say("computes in fp32, as fp16, the precision of the training run, is for GPUs only");
    config_.precision = RunConfig::Precision::fp32;
  }
  expect_precision(device.id, compute_dtype(config_));
  return std::move(placed.placement);
}

void Predictor::make_pool(const PlacedDevice& device) {
  MemoryPoolOptions options =
      limits_of({&device, 1}, {space_of(device.id).total}, parse_memory_limit(config_.memory.limit))
          .front();
  options.explain = [](const MemoryShortage& shortage) {
    return plain_text(shortage) + "; lower --batch, or use another --device";
  };
  memory_ = std::make_unique<MemoryPool>(device.id, options);
}

// Reads the plain weights, into the replica where the host can write it, else by a copy.
void Predictor::load(const SavedTensors& tensors) {
  bool there = replica_->weights->on_host();
  Buffer copy(there ? 0 : replica_->weights->bytes());
  float* flat = there ? replica_->values() : copy.as<float>();
  // The graph is that of the model alone.
  std::shared_ptr<const SavedTensors> saved(std::shared_ptr<void>(), &tensors);
  read_weights(layout_, MergedTensors(saved, adapter_factor(config_.adapt.lora), true), true, flat);
  replica_->write(flat);
}

std::string Predictor::device() const {
  return to_string(team_->spec(0).device);
}

void Predictor::run(const void* rows, int64_t count, std::span<float> out) {
  int64_t row = output_shape_.elements();
  require(pass_ != nullptr, "a predictor for text computes no rows");
  require(static_cast<int64_t>(out.size()) == count * row, "Predictor: {} outputs for {} rows",
          out.size(), count);
  const auto* input = static_cast<const std::byte*>(rows);
  // Work on the device runs on the lane: memory lies on its NUMA node, and CUDA has its context.
  team_->lead([&] {
    for (int64_t done = 0; done < count; done += batch_) {
      run_batch(input, std::min(batch_, count - done), out.data() + done * row);
      input += spec_.columns[0].row_bytes() * static_cast<size_t>(batch_);
    }
  });
}

void Predictor::run_batch(const std::byte* rows, int64_t count, float* out) {
  size_t bytes = spec_.columns[0].row_bytes() * static_cast<size_t>(count);
  // The graph computes full batches. Zeros fill the rest; outputs of different rows are
  // independent.
  std::memset(padded_.data(), 0, padded_.size());
  std::memcpy(padded_.data(), rows, bytes);
  pass_->run(padded_.data());
  pass_->copy_output({out, static_cast<size_t>(count * output_shape_.elements())});
}

TextsPass Predictor::texts_pass() {
  require(task_ == Task::predict_tokens, "texts_pass() of a model that reads no tokens");
  int64_t context = output_shape_[0], vocabulary = output_shape_[1];
  if (!decoder_)
    return window_pass(context, vocabulary,
                       [this](std::span<const int32_t> window, std::span<float> logits) {
                         run(window.data(), 1, logits);
                       });
  auto logits = [this](std::span<const std::span<const int32_t>> seen) {
    std::span<const float> rows;
    team_->lead([&] { rows = decoder_->logits(seen); });
    return rows;
  };
  return {decoder_->texts(), context, vocabulary, logits,
          [this](size_t place) { decoder_->begin(place); }};
}

}  // namespace spire
