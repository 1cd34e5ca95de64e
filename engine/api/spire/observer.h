// Events of a run and the interface of their observers. The trainer calls observers in order, from
// one thread at a time. on_start() throws where an observer cannot write. Later a failed write must
// not throw, since a full disk must not end a run: the observer warns at once and reports the loss
// by lost(), which decides the run's exit code.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spire/metric.h>

namespace spire {

// (kind, bytes): "weights", "gradients", "optimizer", "activations", "workspace", ...
using BytesByKind = std::vector<std::pair<std::string, int64_t>>;

struct DeviceInfo {
  std::string name;            // "cpu:0", "cuda:1"
  std::string description;     // "2 cores: 0-1", "NVIDIA H200"
  int64_t towers = 0;          // that it computes
  BytesByKind planned_memory;  // planned before the first step
  int rank = 0;                // of the process that drives it
  std::string host = {};       // where that process runs
  int64_t memory_limit = 0;    // bytes of all kinds together; 0: none
};

// The effect of memory.recompute on one tower.
struct RecomputeInfo {
  int64_t nodes = 0;          // run a second time in each backward; 0: the model marks no blocks
  int64_t bytes = 0;          // of activations
  int64_t bytes_without = 0;  // of activations without recomputation
};

struct StartInfo {
  std::string model;            // "cnn"
  std::string model_note = {};  // reason for the model; empty: the config names it
  std::string task = {};        // "classify images into 10 classes"; empty: not shown
  std::string dataset;          // "fashion_mnist"
  std::vector<DeviceInfo> devices;
  std::string cores;          // number, limits and pinning; one line or more
  std::string device_note;    // choice of `auto` and its reason; empty: devices were named
  int64_t batch_size = 0;     // samples a tower a step
  int64_t towers = 0;         // global batch = batch_size * towers
  int64_t tower_threads = 0;  // CPU threads a tower; 0: does not apply
  std::string lr_scaling;     // "none", "linear", "sqrt" with the global batch; empty: not shown
  double lr = 0;              // as scaled, before warm-up and schedule
  double base_lr = 0;         // for a global batch of base_batch
  int64_t base_batch = 0;     // samples
  int64_t parameters = 0;     // trainable numbers of the model
  int64_t train_samples = 0;
  int64_t test_samples = 0;
  int64_t steps_per_epoch = 0;
  int64_t total_steps = 0;  // optimizer steps at the end of the run
  int64_t epochs = 0;
  int64_t processes = 1;
  std::string transport;    // between processes: "MPI (Open MPI v4.1.4)", "TCP"
  std::string exchange;     // way between GPUs and its reason; empty: does not apply
  std::string strategy;     // "parameter_device", "mirrored", "sharded"
  std::string reduction;    // "invariant", "native"
  std::string host_memory;  // free for this process, and its limits; empty: not shown
  std::string checkpoints;  // source of their data; empty: not shown
  std::optional<RecomputeInfo> recompute;  // none with memory.recompute: none
  std::string precision;                   // "fp32", "bf16", "fp16"
  std::string guarantee;     // what does not change with the devices; one or two lines
  std::string output;        // run directory
  std::string resumed_from;  // checkpoint path; empty: a new run
  int64_t resumed_step = 0;  // optimizer steps already done
  // Repeats the evaluation at resumed_step, which was cut short or failed, and its checkpoint.
  bool evaluates_again = false;
};

struct StepReport {
  int64_t step = 0;  // optimizer steps done, so 1 after the first
  int64_t total_steps = 0;
  double epoch = 0;  // fractional: 2.5 is the middle of the third epoch
  double loss = 0;
  MetricValue metric;        // of the training batch
  double epoch_loss = 0;     // mean over the epoch's samples since this process started
  MetricValue epoch_metric;  // of the same samples
  double lr = 0;
  double grad_norm = 0;
  double samples_per_s = 0;
  double step_ms = 0;
  double data_wait = 0;       // share of the step, 0..1
  double comm_wait = 0;       // share that waits for others' gradients (exposed communication)
  double loss_scale = 0;      // of fp16; 0: another precision
  int64_t skipped_steps = 0;  // fp16: steps of the run whose gradients overflowed
  int64_t samples_seen = 0;
  double eta_seconds = 0;
  bool record = true;  // write to metrics.jsonl (log.every_steps)
};

struct EvalReport {
  int64_t step = 0;
  double epoch = 0;
  double loss = 0;
  MetricValue metric;
  int64_t samples = 0;
  double seconds = 0;
  bool best = false;  // the best metric of the run so far
};

struct CheckpointReport {
  int64_t step = 0;
  std::string path;
  int64_t bytes = 0;
  double snapshot_ms = 0;  // wait of the step loop
  double write_ms = 0;     // in the background
};

struct ValidationSummary {
  double loss = 0;
  MetricValue metric;
  double best = 0;        // of the metric
  bool measured = false;  // false: the run never evaluated
};

// The outcome of a run, as in summary.json.
struct RunSummary {
  int64_t steps = 0;
  double epochs = 0;
  double train_loss = 0;
  ValidationSummary val;
  double samples_per_s = 0;
  std::string parameter_hash;  // 16 hex digits over all weights, plain layout, name order
  std::string ema_hash;        // of the averaged weights; empty: none
  std::vector<std::string> devices;
  int64_t towers = 0;
  int64_t processes = 1;
  std::string strategy;  // "parameter_device", "mirrored", "sharded"
  double seconds = 0;
  std::map<std::string, int64_t> peak_memory_bytes;     // host_rss, weights, ...
  std::map<std::string, int64_t> planned_memory_bytes;  // planned kinds only
  int exit = 0;                                         // the trainer's exit code
  std::string stopped_by;  // "signal", "early_stop", an error's text; empty: ran to its end
  std::string output;      // run directory
  std::string checkpoint;  // last checkpoint; empty: none
  std::string metrics;     // path of metrics.jsonl; empty: none
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_start(const StartInfo&) {}
  virtual void on_step(const StepReport&) {}
  virtual void on_eval(const EvalReport&) {}
  virtual void on_checkpoint(const CheckpointReport&) {}
  virtual void on_note(std::string_view) {}  // information, no fault
  virtual void on_warning(std::string_view) {}
  virtual void on_end(const RunSummary&) {}
  // Describes output that could not be written; empty: nothing is lost.
  virtual std::string lost() const { return ""; }
};

// Passes every event to its observers in the order in which they were added.
class ObserverList : public Observer {
 public:
  void add(std::unique_ptr<Observer> observer) { observers_.push_back(std::move(observer)); }

  void on_start(const StartInfo& start) override;
  void on_step(const StepReport& step) override;
  void on_eval(const EvalReport& eval) override;
  void on_checkpoint(const CheckpointReport& checkpoint) override;
  void on_note(std::string_view text) override;
  void on_warning(std::string_view text) override;
  void on_end(const RunSummary& summary) override;
  std::string lost() const override;  // of the first observer with a loss

 private:
  std::vector<std::unique_ptr<Observer>> observers_;
};

}  // namespace spire
