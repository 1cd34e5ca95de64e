// A trained model on one device, without a dataset, and the inputs that it reads: the user's own
// files, or the test data of a run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spire/checkpoint.h>
#include <spire/dataset.h>
#include <spire/export.h>
#include <spire/run_config.h>
#include <spire/tensor.h>

namespace spire {

// Inputs of a trained model, batch by batch: the user's own files, or the test data of a run.

struct ListedInput {
  std::filesystem::path path;
  std::filesystem::path name;  // file name, or path relative to the folder that the user gave
};

struct RowOrigin {
  ListedInput file;   // empty for a sample of a dataset
  int64_t row = 0;    // index in the file, from 0; skipped rows count, a table's header does not
  bool only = false;  // the file has a single row, as an image does
  // What the input says that the row is, if it says so: a class, or values.
  std::optional<int64_t> label = {};
  std::vector<float> values = {};

  bool has_truth() const { return label || !values.empty(); }
};

// Callbacks, all set, on the thread that reads; each may throw, which ends the reading.
struct InputReport {
  std::function<void(const std::string&)> problem;  // a file or row was skipped
  std::function<void(const std::string&)> note;     // for example ignored columns
};

class SPIRE_API InputRows {  // one thread at a time
 public:
  virtual ~InputRows() = default;

  // Writes up to `max_rows` rows of the spec's first column; returns their origins (empty: end).
  virtual std::vector<RowOrigin> read(int64_t max_rows, std::byte* rows) = 0;
  // Which samples of a dataset were left out so far (data.on_error: skip), for the user; else "".
  virtual std::string left_out() const { return {}; }
  // Whether the names of the files alone show that some rows have a truth.
  virtual bool names_tell_truth() const { return false; }
};

// Lists the files that `words` name; a folder stands for all images below it, sorted. Reports as a
// problem a name that does not exist, and a folder if the model reads no images.
SPIRE_API std::vector<ListedInput> list_inputs(const std::vector<std::string>& words,
                                               const SampleSpec& spec, const InputReport& report);

// Opens files for a model: images, tables, arrays. spec, config: from its checkpoint. Rows are
// normalized as the spec says. Throws Error(config) for a model that reads tokens, or sequences,
// and a file that has no arrays.
SPIRE_API std::unique_ptr<InputRows> open_inputs(std::vector<ListedInput> files,
                                                 const SampleSpec& spec, const DataConfig& config,
                                                 const InputReport& report);

// The test data of a run, in order, each sample with its label or values as the truth.
struct TestRows {
  std::unique_ptr<InputRows> rows;
  std::vector<std::string> notes;            // for the user
  std::vector<std::filesystem::path> files;  // that are read, training data included
};

// config: of the run. spec: the trained model's. model: its name in messages. classes: whether the
// data's classes must be those of the spec. all_test: where no file is named as test data all
// samples are, not a share of them. Throws Error(config), Error(data).
SPIRE_API TestRows open_test_rows(const RunConfig& config, const SampleSpec& spec,
                                  const std::string& model, bool classes, bool all_test = false);

// A trained model on one device, without a dataset: outputs for rows of its input, and images of
// them.

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
