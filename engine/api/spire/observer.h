// What a run tells about itself, as plain events, and who listens.
// The trainer calls every observer from its own thread, in order; an observer is never called by
// two threads at once. Before the first step an observer throws where it will not be able to write.
// Later it must not throw for a failed write: a full disk spoils a log, not a run. It tells at
// once, and the run's exit code tells at the end: lost().
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
  int64_t towers = 0;          // towers hosted
  BytesByKind planned_memory;  // planned before the first step
  int rank = 0;                // of the process that drives it
  std::string host = {};       // where that process runs
  int64_t memory_limit = 0;    // bytes that all kinds may take together; 0: what the device has
};

// What memory.recompute does to one tower.
struct RecomputeInfo {
  int64_t nodes = 0;          // run a second time in each backward; 0: the model marks no blocks
  int64_t bytes = 0;          // of activations
  int64_t bytes_without = 0;  // the same if nothing were computed twice
};

struct StartInfo {
  std::string model;            // "cnn"
  std::string model_note = {};  // why this one, where the config does not say; empty: it does
  std::string task = {};        // "classify images into 10 classes"; empty: not told
  std::string dataset;          // "fashion_mnist"
  std::vector<DeviceInfo> devices;
  std::string cores;          // how many, by which limit, and whether pinned; a line or more
  std::string device_note;    // what `auto` took and why; empty: devices were named
  int64_t batch_size = 0;     // samples a tower a step
  int64_t towers = 0;         // global batch = batch_size * towers
  int64_t tower_threads = 0;  // CPU threads a tower; 0: does not apply
  std::string lr_scaling;     // "none", "linear", "sqrt" with the global batch; empty: not told
  double lr = 0;              // as scaled, before warm-up and schedule
  double base_lr = 0;         // as it is for a global batch of base_batch
  int64_t base_batch = 0;     // samples
  int64_t parameters = 0;     // trainable numbers of the model
  int64_t train_samples = 0;
  int64_t test_samples = 0;
  int64_t steps_per_epoch = 0;
  int64_t total_steps = 0;  // optimizer steps at the end of the run
  int64_t epochs = 0;
  int64_t processes = 1;
  std::string transport;    // what joins the processes: "MPI (Open MPI v4.1.4)", "TCP"
  std::string exchange;     // how GPUs meet, and why; empty: does not apply
  std::string strategy;     // who updates: "parameter_device", "mirrored", "sharded"
  std::string reduction;    // "invariant", "native"
  std::string host_memory;  // what is free for this process, and what limits it; empty: not told
  std::string checkpoints;  // from what they are written; empty: not told
  std::optional<RecomputeInfo> recompute;  // none with memory.recompute: none
  std::string precision;                   // "fp32", "bf16", "fp16"
  std::string guarantee;     // what stays the same on other device counts; one line or two
  std::string output;        // run directory
  std::string resumed_from;  // checkpoint path; empty: a new run
  int64_t resumed_step = 0;  // optimizer steps already done
  // The evaluation at that step was cut short or has failed: it is done again, and its checkpoint
  // written again.
  bool evaluates_again = false;
};

struct StepReport {
  int64_t step = 0;  // optimizer steps done, so 1 after the first
  int64_t total_steps = 0;
  double epoch = 0;  // fractional: 2.5 is the middle of the third epoch
  double loss = 0;
  MetricValue metric;        // of the training batch
  double epoch_loss = 0;     // these two: over all samples of the epoch so far, or of what of it
  MetricValue epoch_metric;  // this process has seen
  double lr = 0;
  double grad_norm = 0;
  double samples_per_s = 0;
  double step_ms = 0;
  double data_wait = 0;       // share of the step spent waiting for data, 0..1
  double comm_wait = 0;       // the same for gradients of others: exposed communication, 0..1
  double loss_scale = 0;      // of fp16; 0: another precision
  int64_t skipped_steps = 0;  // fp16: steps of the run whose gradients overflowed
  int64_t samples_seen = 0;
  double eta_seconds = 0;
  bool record = true;  // belongs in metrics.jsonl (log.every_steps)
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
  double snapshot_ms = 0;  // what the step loop waited
  double write_ms = 0;     // in the background
};

struct ValidationSummary {
  double loss = 0;
  MetricValue metric;
  double best = 0;        // of the metric
  bool measured = false;  // false: the run never evaluated
};

// The end of a run, and what summary.json holds.
struct RunSummary {
  int64_t steps = 0;
  double epochs = 0;
  double train_loss = 0;
  ValidationSummary val;
  double samples_per_s = 0;
  std::string parameter_hash;  // 16 hex digits over all weights, plain layout, name order
  std::string ema_hash;        // the same of the averaged weights; empty: nothing was averaged
  std::vector<std::string> devices;
  int64_t towers = 0;
  int64_t processes = 1;
  std::string strategy;  // "parameter_device", "mirrored", "sharded"
  double seconds = 0;
  std::map<std::string, int64_t> peak_memory_bytes;     // host_rss, weights, ...
  std::map<std::string, int64_t> planned_memory_bytes;  // the same kinds, where there was a plan
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
  virtual void on_note(std::string_view) {}  // what is good to know, and no fault
  virtual void on_warning(std::string_view) {}
  virtual void on_end(const RunSummary&) {}
  // What it could not write, as a sentence; empty: nothing is lost.
  virtual std::string lost() const { return ""; }
};

// Hands every event to each of its observers, in the order they were added.
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
  std::string lost() const override;  // of the first that has lost something

 private:
  std::vector<std::unique_ptr<Observer>> observers_;
};

}  // namespace spire
