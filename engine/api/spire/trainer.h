// Trains a model step by step, on batches of the calling program or on its datasets. train() runs a
// whole config instead, with files, reports and resuming.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <spire/dataset.h>
#include <spire/export.h>
#include <spire/metric.h>
#include <spire/model.h>
#include <spire/observer.h>
#include <spire/run_config.h>
#include <spire/tensor.h>
#include <spire/world.h>

namespace spire {

// Rows of a column in the caller's memory. A void pointer is believed: dense rows, fp32 for columns
// of bf16 and f16, else of the column's dtype. Of a typed pointer (dense) and of an Array (any
// strides, as those of a ring buffer or a column-major matrix) the numbers are converted: whole
// ones to fp32, double to fp32, bytes of images to x / 255, bytes to i32. Fractions where whole
// numbers are wanted, other shapes than (count, row) and other names are refused.
struct ColumnRows {
  ColumnRows(const void* rows) : data(rows) {}  // NOLINT: a pointer is rows
  template <ArrayNumber T>
  ColumnRows(const T* rows) : data(rows), dtype(dtype_of<T>::value) {}  // NOLINT
  template <typename T>
  requires(std::is_arithmetic_v<T> && !ArrayNumber<T>) ColumnRows(const T*)
  = delete;
  ColumnRows(const Array& rows) : data(rows.data), dtype(rows.dtype), array(rows) {}  // NOLINT

  const void* data;
  std::optional<DType> dtype = {};
  std::optional<Array> array = {};
};

// Samples in the caller's memory. When a call has returned, the caller may change them.
struct Samples {
  // One entry per column of Trainer::data(), in their order. An array_source() has its labels,
  // targets and values after the other columns.
  std::vector<ColumnRows> columns;
  int64_t count = 0;
};

struct StepResult {
  int64_t step = 0;     // counts from 1
  int64_t samples = 0;  // of the global batch
  double lr = 0;
  double loss = 0;        // mean over the samples
  MetricValue metric;     // over the samples
  double grad_norm = 0;   // norm of the averaged gradient, before clipping
  double loss_scale = 0;  // fp16: of this step; else 0
  // Nothing was updated: fp16 gradients overflowed, or the step was bad (guard.on_bad_step: skip).
  bool skipped = false;
  StepTimes times = {};  // means over this process's lanes
};

struct EvaluationResult {
  double loss = 0;
  MetricValue metric;
  int64_t samples = 0;
};

struct WeightInfo {
  std::string name;     // "conv1.weight"
  Shape shape;          // in PyTorch's order (layers.h)
  bool trained = true;  // false: frozen, or a running statistic
};

struct TrainerMemory {     // of a device of this process, in bytes
  std::string device;      // "cuda:1"
  int64_t planned = 0;     // for all steps
  int64_t in_use = 0;      // now
  int64_t peak = 0;        // sum of each kind's own peak: an upper bound of the most in use
  BytesByKind kinds = {};  // in_use by what it is for; of plan_memory() planned
};

struct TrainerOptions {
  std::shared_ptr<const Model> model = {};  // empty: the config names the model
  // For batches of the caller: size of the dataset from which the caller takes them, so that the
  // last batch of an epoch may be smaller. 0: all batches are full.
  int64_t train_samples = 0, test_samples = 0;
  // Batches of the caller may have any number of samples up to the global batch. The constructor
  // then compiles the model for each number of samples that a tower may have, which takes as many
  // times as long; on GPUs their engines are chosen without measuring. Where kernels for different
  // numbers read a weight in different layouts, each update makes all of these.
  bool any_batch = false;
  // Rows that predict() computes at a time, for which memory is reserved; 0: predict() cannot be
  // called. Default: batch_size, for token models 1.
  std::optional<int64_t> predict_rows = {};
  // As RunOptions::world. It must outlive its trainers; one of them at a time may work.
  World* world = nullptr;
  // As RunOptions::on_exit_timeout, for a process without a world.
  std::function<void(const Failure&)> on_exit_timeout = {};
  // Gets notes and warnings of the constructor, of load(), and of steps that the guard skips.
  std::function<void(std::string_view)> on_remark = {};
};

// Gets the gradient of each tower (share of the global batch) of this process for each trained
// weight, fp32 as WeightInfo has it. The gradients of all towers add up to the averaged gradient.
using TowerGradients =
    std::function<void(int tower, const std::string& weight, std::span<const float> gradient)>;

// Callbacks of fit(). They run on the caller's thread and may call any method except fit(). A
// callback that returns false or throws ends fit(). Several processes end together, after one more
// step.
struct FitOptions {
  std::optional<int64_t> steps = {};  // how many; default: up to the end of the config's run
  std::function<double(int64_t step)> lr = {};  // of a step; the first is 0; empty: the schedule's
  std::function<bool(const StepResult&)> on_step = {};
  std::function<bool(int64_t epoch, const EvaluationResult&)> on_epoch = {};
  const std::atomic<bool>* stop = nullptr;  // set it, on any thread, to end after the present step
};

// - Processes: each process of a run has a Trainer; all call the same methods in the same order.
// - Threads: one thread at a time calls a Trainer: methods that are not const throw Error(config)
//   during a call of another thread. Several Trainers may work at once. One with a single lane (a
//   tower at a time) of one thread on a CPU computes on the thread that calls.
// - Bad steps (loss or gradient not finite, or bad by guard.*_zscore) change nothing: they throw
//   Error(diverged), or with guard.on_bad_step: skip count as a step without an update. rollback is
//   refused.
// - These errors leave the Trainer unchanged and usable: (1) Error(config) and Error(data) about
//   arguments, of load() only in a run of one process; (2) Error(diverged) of a bad step; (3) in a
//   run of one process also Error(data) for unreadable samples, Error(checkpoint) of save(), and of
//   load() if reading the file failed.
// - After any other Error the state is lost: calls that need it throw.
// - In a run of one process, what the program's layers, kernels and datasets throw passes as it is,
//   but for bad_alloc and system_error, which become an Error. Thrown by a dataset's read() it
//   leaves the Trainer usable; else the state is lost.
// - These keys have no effect: output, checkpoint, eval, log, monitor, check, early_stop, max_time.
class SPIRE_API Trainer {
 public:
  // For batches of the caller. data: describes their columns. Those that Spire knows (Column) are
  // declared i32 for class and token numbers, else f32; see ColumnRows for what batches may have.
  // Throws as train(): config, device, out_of_memory.
  Trainer(const RunConfig& config, const SampleSpec& data, const TrainerOptions& options = {});
  // For the data that the config names.
  explicit Trainer(const RunConfig& config, const TrainerOptions& options = {});
  // For datasets, on which fit() and evaluate() work.
  Trainer(const RunConfig& config, const DataSource& data, const TrainerOptions& options = {});
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  const RunConfig& config() const;  // has the chosen towers, batch_size and tower_threads
  const SampleSpec& data() const;   // the columns of a batch, and the number of classes
  int64_t global_batch() const;     // samples of a step
  int64_t steps_done() const;
  std::vector<std::string> devices() const;
  // One entry per device of this process, in the order of devices(), which lists the devices of all
  // processes. The constructor allocates all that steps need, and the destructor frees it; GPUs
  // also hold what the driver and its libraries need (list_devices()).
  std::vector<TrainerMemory> memory() const;
  // The memory that such a Trainer would have: compiles its plans, without memory for them. Throw
  // what the constructors throw, except where the plan is too large for a device.
  static std::vector<TrainerMemory> plan_memory(const RunConfig& config, const SampleSpec& data,
                                                const TrainerOptions& options = {});
  static std::vector<TrainerMemory> plan_memory(const RunConfig& config, const DataSource& data,
                                                const TrainerOptions& options = {});
  // Frees what calls keep for later ones: the batches and threads of fit() and evaluate(), which
  // they make again when needed, and unused heap memory of the whole process. GPUs keep nothing to
  // free.
  void release_memory();

  // One optimizer step on a global batch; every process passes the whole batch. lr: instead of the
  // schedule's. Throws Error(config) for a batch that is not full, unless it is the last one of
  // train_samples or any_batch allows it, for columns that do not match, and for a rate that is
  // negative or not finite; Error(data) for labels and tokens that are out of range (Column);
  // Error(diverged) for a bad step (see above). An fp16 step whose gradients overflow is skipped
  // instead.
  StepResult step(const Samples& batch, std::optional<double> lr = {});
  // A step in parts, for programs that read or change gradients: compute_gradients() runs forward
  // and backward on a global batch, and update() is the rest of step(). Before it, gradient()
  // returns the averaged gradient of a weight (without fp16's loss scale) in memory that the
  // program may read and write until the step ends. More calls of compute_gradients() add batches:
  // gradients, statistics, loss and metric are then means over the samples of all of them.
  // reject() instead of update() leaves weights, statistics and optimizer as they were, and does
  // not count as a step. fp16: where the gradients overflowed (StepResult::skipped), update()
  // changes nothing but the loss scale, whatever was written; reject() would leave it too high.
  // optimizer.clip_norm and guard apply to the gradients as update() finds them. All processes make
  // the same calls; what rank 0 writes counts. Throw as step(), but a bad step ends in update(),
  // which then leaves no gradients; gradient() also Error(config) for the name of no trained
  // weight. Until the step ends, methods that train, evaluate, predict, save, load or write a
  // weight throw Error(config). Memory: gradient() keeps a copy of all gradients on the host,
  // further batches one more, and on_tower one for each tower; it is called on the caller's thread,
  // in the end.
  StepResult compute_gradients(const Samples& batch, const TowerGradients& on_tower = {});
  std::span<float> gradient(const std::string& name);
  StepResult update(std::optional<double> lr = {});
  void reject();

  // Runs a step on zeros, up to its update, and an evaluation, and forgets both: the first step()
  // finds memory, threads, kernels and libraries of all but the update warm.
  void warm_up();
  // Sets rate, factors, weight_decay, momentum and so on of later steps; the schedule scales the
  // new rate. Weights with the factor 0 in lr_factors stay as they are. load() changes none of it,
  // and save() contains it. All processes call it. Throws Error(config) for another name or `own`,
  // for numbers that a config may not have, and for factors of no weight.
  void set_optimizer(const OptimizerConfig& optimizer);

  // Evaluates the present weights (their averages with ema.decay). samples: any number of full
  // batches; the last may be smaller if test_samples or any_batch allows it. Throws as step(),
  // except Error(diverged).
  EvaluationResult evaluate(const Samples& samples);

  // Trains on the datasets from the present step on, in the order of train(), with the same bits;
  // evaluates after each epoch and at the end. Returns the last evaluation; its `samples` is 0 if
  // fit() ended before there was one. Beyond the end of the config's run (FitOptions::steps) the
  // learning rate stays as it was there.
  EvaluationResult fit(const FitOptions& options = {});
  EvaluationResult evaluate();  // on the test data

  // Returns the outputs (count, output_shape()) of the present weights for `count` rows of the
  // first column; all processes call it, and on other ranks than 0 the result is empty. Throws
  // Error(config) for rows that do not match the column, and if the output needs other columns.
  std::vector<float> predict(const ColumnRows& rows, int64_t count);
  Shape output_shape() const;  // of one sample; throws Error(config) on other ranks than 0

  std::vector<WeightInfo> weights() const;
  // values: fp32, row-major, of WeightInfo::shape. Both throw Error(config) for an unknown name or
  // a span of another size. All processes call them; rank 0's values are written. A written weight
  // keeps its optimizer state, but its average (ema) restarts at the written values. read_weight()
  // returns the trained weight, whereas evaluate() and predict() use the averages.
  void read_weight(const std::string& name, std::span<float> values);
  void write_weight(const std::string& name, std::span<const float> values);
  uint64_t parameter_hash();  // as in the summary of a run

  // Write and read a checkpoint with the optimizer's state, which `trainer` reads as well. A run
  // continues from it with the same bits; on GPUs if cuda.autotune is off or chose the same
  // engines. save() returns on all processes once rank 0 has written the file; in load() all of
  // them read it. Throw Error(checkpoint). load() also throws Error(config) if the checkpoint has
  // another seed or global_batch, or, unless both have precision: exact, another batch_size, towers
  // or, on CPUs, tower_threads.
  void save(const std::filesystem::path& file);
  void load(const std::filesystem::path& file);
  // The same with the bytes of such a file in memory. save() returns them on rank 0, elsewhere
  // none; all processes pass them to load().
  [[nodiscard]] std::vector<std::byte> save();
  void load(std::span<const std::byte> file);
  // Reads weights and running statistics alone, as config.init does at the start of a run: from a
  // checkpoint of any batch, towers and optimizer, or from safetensors (docs/weights.md). Steps,
  // data position and optimizer state stay; averages become these weights; what `skip` and
  // `strict` leave out keeps its present values. on_remark is told what was loaded. Throws
  // Error(checkpoint) where tensors do not match, Error(config) for entries of `from` that match
  // nothing, and with adapters.
  void load_weights(const InitConfig& from);
  void load_weights(std::span<const std::byte> file);  // as save() or save_weights() returned it
  // Write the weights and running statistics alone (their averages with ema.decay) as safetensors,
  // with Spire's names and PyTorch's layouts, as save() writes a checkpoint: to a file, which is
  // replaced, or to memory. Throw Error(config) for a file that cannot be written and with
  // adapters, Error(device) for a full disk, and leave the Trainer usable as save() does.
  void save_weights(const std::filesystem::path& file);
  [[nodiscard]] std::vector<std::byte> save_weights();

 private:
  friend class InferenceSession;  // reads the parts
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace spire
