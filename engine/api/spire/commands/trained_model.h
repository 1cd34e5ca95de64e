// A trained model on one device, without a dataset: outputs for rows of its input, and images of
// them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <spire/checkpoint.h>
#include <spire/export.h>
#include <spire/run_config.h>
#include <spire/sample_spec.h>
#include <spire/shape.h>

namespace spire {

// What a model has learned, and its outputs.
enum class ModelTask : uint8_t {
  classify,        // a class: logits (K)
  regress,         // numbers (K)
  predict_tokens,  // the next token: logits per position (T, V)
  reconstruct,     // an image (H, W, C)
  segment,         // the class of each pixel: logits (H, W, K)
};

struct TrainedModelOptions {
  std::string device = "auto";  // one word of the config's `devices`
  int64_t batch = 64;           // rows per forward pass, for which memory is planned
  // Its on_missing, timeouts.devices, memory.limit, precision and cuda count in the place of those
  // of the training run; null: these count.
  const RunConfig* settings = nullptr;
  // Receives notes on the device: which of several GPUs it is, who else uses it, for what the call
  // waits, a precision that is not the run's.
  std::function<void(std::string_view line)> say = {};
};

// One thread at a time calls the methods of an object.
class SPIRE_API TrainedModel {
 public:
  // Reads the weights; the averaged ones if the run kept them (ema.decay). Computes on one device:
  // of several GPUs on an idle one, if there is one, which no other run takes while this lives.
  // fp16 becomes fp32 on a CPU. Throws Error(checkpoint) for a model that this program does not
  // know, Error(config) for a device that is none or a batch below 1, Error(device),
  // Error(out_of_memory).
  explicit TrainedModel(const Checkpoint& checkpoint, const TrainedModelOptions& options = {});
  ~TrainedModel();
  TrainedModel(TrainedModel&&) noexcept;
  TrainedModel& operator=(TrainedModel&&) noexcept;

  const RunConfig& config() const;  // of the training run
  const SampleSpec& data() const;   // columns and classes of its data
  ModelTask task() const;
  std::string device() const;  // "cpu:0"
  // Of one output: logits (K), values (K), an image (H, W, C), logits per pixel (H, W, K), or
  // logits per position (T, V).
  const Shape& output_shape() const;

  // rows: `count` rows of the first column of data(), as its dtype. Writes count x output_shape()
  // fp32 numbers; an output does not depend on the other rows. Throws Error(device).
  void predict(const void* rows, int64_t count, std::span<float> out);

  // Whether the output of a sample can be shown: reconstruct and segment.
  bool makes_images() const;
  // Write PNG files, whole or not at all; without `overwrite` they leave a file that holds
  // something. input: a row of the first column. output: of predict() for it. The first shows both
  // side by side; the second what the model made alone, a mask as the number of each pixel's class.
  // Throw Error(data) for a file that cannot be written. REQUIRE: makes_images().
  void write_comparison(const std::filesystem::path& file, const std::byte* input,
                        std::span<const float> output, bool overwrite) const;
  void write_result(const std::filesystem::path& file, std::span<const float> output,
                    bool overwrite) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace spire
