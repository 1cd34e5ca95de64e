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
  // The row's true class or true values, if the input has them.
  std::optional<int64_t> label = {};
  std::vector<float> values = {};

  bool has_truth() const { return label || !values.empty(); }
};

// Callbacks, none of them empty, on the thread that reads. An exception ends the reading.
struct InputReport {
  std::function<void(const std::string&)> problem;  // a file or row was skipped
  std::function<void(const std::string&)> note;     // for example ignored columns
};

class SPIRE_API InputRows {  // one thread at a time
 public:
  virtual ~InputRows() = default;

  // Writes up to `max_rows` rows of the spec's first column to `rows`; returns the origin of each
  // row written. Empty: the input has ended.
  virtual std::vector<RowOrigin> read(int64_t max_rows, std::byte* rows) = 0;
  // Returns a message on the corrupt samples left out so far (data.on_error: skip); "" if none
  // were.
  virtual std::string left_out() const { return {}; }
  // Returns whether the path of a file shows its class, as a folder of a class does: rows then have
  // a truth, which is known before any is read.
  virtual bool names_tell_truth() const { return false; }
};

// Lists the files that `words` name; a folder stands for all images below it, sorted. Reports as a
// problem a name that does not exist, and a folder if the model reads no images.
SPIRE_API std::vector<ListedInput> list_inputs(const std::vector<std::string>& words,
                                               const SampleSpec& spec, const InputReport& report);

// Opens files for a model: images, tables, arrays. spec, config: from its checkpoint. Rows are
// normalized as the spec says. Throws Error(config) for a file of a kind that the model cannot read
// (tokens and sequences: only .npy, .npz and HDF5), Error(checkpoint) for an impossible spec.
SPIRE_API std::unique_ptr<InputRows> open_inputs(std::vector<ListedInput> files,
                                                 const SampleSpec& spec, const DataConfig& config,
                                                 const InputReport& report);

// The test data of a run, in order, each sample with its label or values as the truth.
struct TestRows {
  std::unique_ptr<InputRows> rows;
  std::vector<std::string> notes;            // for the user
  std::vector<std::filesystem::path> files;  // all files of the dataset, with training data
};

// config: of the run. spec: of the trained model. model: its name in messages. classes: whether the
// data's classes must be those of the spec. all_test: if no file is test data, all samples become
// test data instead of a share of them. Throws Error(config), Error(data).
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
  // Its on_missing, timeouts.devices, memory.limit, precision and cuda replace those of the
  // training run; null: nothing is replaced. Read by the constructor alone; the caller owns it.
  const RunConfig* settings = nullptr;
  // Gets notes on the device from the constructor: which GPU was chosen, who else uses it, what the
  // constructor waits for, and that the precision is not the training run's. May be empty.
  std::function<void(std::string_view line)> say = {};
};

// One thread at a time may use an object.
class SPIRE_API TrainedModel {
 public:
  // Reads the weights; the averaged ones if the run kept them (ema.decay). Uses one device: of
  // several GPUs an idle one, if there is one, and reserves it against other runs of Spire while
  // this object lives. fp16 becomes fp32 on a CPU. Throws Error(checkpoint) for a model that this
  // program does not know, Error(config) for a word that names no device or a batch below 1,
  // Error(device), Error(out_of_memory).
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

  // rows: `count` rows of the first column of data(), in its dtype. Writes (count, output_shape())
  // fp32 numbers, which must be the size of `out`. An output does not depend on other rows. Throws
  // Error(device).
  void predict(const void* rows, int64_t count, std::span<float> out);

  // Returns whether an output is an image or a mask: task reconstruct or segment.
  bool makes_images() const;
  // Write a PNG file, whole or not at all. input: a row of the first column. output: of predict()
  // for it. write_comparison() shows input and output side by side; write_result() writes the
  // output alone, of a mask the class number of each pixel. Throw Error(data) if the file cannot be
  // written, Error(config) if it exists, is not empty and may not be overwritten. REQUIRE:
  // makes_images().
  void write_comparison(const std::filesystem::path& file, const std::byte* input,
                        std::span<const float> output, bool overwrite) const;
  void write_result(const std::filesystem::path& file, std::span<const float> output,
                    bool overwrite) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace spire
