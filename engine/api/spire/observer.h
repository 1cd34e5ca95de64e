// Events of a run and the interface of their observers. Observers are called in order, by one
// thread at a time. Observer::on_start() may throw, for example if an output file cannot be opened.
// Later a failed write must not throw, since a full disk must not end a run: the observer warns at
// once, and the run fails at its end, with Error(device), if Observer::lost() reports missing
// output.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spire/export.h>
#include <spire/metric.h>
#include <spire/run_config.h>

namespace spire {

// (kind, bytes): "weights", "gradients", "optimizer", "activations", "workspace", ...
using BytesByKind = std::vector<std::pair<std::string, int64_t>>;

struct DeviceInfo {
  std::string name;            // "cpu:0", "cuda:1"
  std::string description;     // "2 cores: 0-1", "NVIDIA H200"
  int64_t towers = 0;          // number of towers (see StartInfo) that it computes
  BytesByKind planned_memory;  // what the run will allocate on it, known before the first step
  int rank = 0;                // rank of the process that uses it
  std::string host = {};       // where that process runs
  int64_t memory_limit = 0;    // bytes of all kinds together; 0: no limit
  // Set by plan() only. memory_free: bytes free now (of a CPU: of the host), if known. fits_now:
  // whether this device's plan fits its limit, and the plans of all devices that share its memory
  // fit what is free.
  std::optional<int64_t> memory_free = {};
  std::optional<bool> fits_now = {};
};

// Effect of memory.recompute on the activations of one tower.
struct RecomputeInfo {
  int64_t nodes = 0;          // ops that backward runs again; 0: the model marks no blocks for that
  int64_t bytes = 0;          // of activations
  int64_t bytes_without = 0;  // of activations without recomputation
};

// Facts about a run at its start. A tower is one of the shares of a global batch; each gives
// one gradient. Strings that do not apply to the run are empty.
struct StartInfo {
  std::string model;            // "cnn"
  std::string model_note = {};  // why this model was chosen; empty if the config names it
  std::string task = {};        // "classify images into 10 classes"
  std::string dataset;          // "fashion_mnist"
  std::vector<DeviceInfo> devices;
  std::string cores;        // CPU cores: number, limits and pinning; one or more lines
  std::string device_note;  // what was chosen where the config leaves it open, and why
  int64_t batch_size = 0;   // samples per tower per step
  int64_t towers = 0;
  int64_t global_batch = 0;     // samples per step; the last tower may have fewer than the others
  std::string batch_note = {};  // what "batch_size: auto" chose, and why; one or more lines
  int64_t tower_threads = 0;    // CPU threads per tower; 0 if unknown
  std::string lr_scaling;       // growth of lr with the global batch: "none", "linear", "sqrt"
  double lr = 0;                // after that scaling, before warm-up and schedule
  double base_lr = 0;           // optimizer.lr, for a global batch of base_batch
  int64_t base_batch = 0;       // samples
  int64_t parameters = 0;       // numbers of the model, without running statistics
  int64_t frozen = 0;           // how many of them training does not change
  int64_t train_samples = 0;
  int64_t test_samples = 0;
  int64_t val_samples = 0;   // held out, or of their own files (data.val); 0: none
  std::string best_by = {};  // what decides which checkpoint is best
  int64_t steps_per_epoch = 0;
  int64_t total_steps = 0;  // optimizer steps done when the run ends
  int64_t epochs = 0;
  int64_t processes = 1;
  std::string transport;    // of messages between processes: "MPI (Open MPI v4.1.4)", "TCP"
  std::string exchange;     // how GPUs exchange data, and why so
  std::string strategy;     // RunConfig::Strategy: "parameter_device", "mirrored", "sharded"
  std::string reduction;    // RunConfig::Reduction: "invariant", "native"
  std::string host_memory;  // how much is free for this process, and what limits it
  std::string checkpoints;  // what checkpoints are written from: "from a snapshot of 1.2 GiB, ..."
  std::optional<RecomputeInfo> recompute;  // nullopt if memory.recompute is "none"
  std::string precision;                   // "fp32", "bf16", "fp16", "exact"
  std::string guarantee;     // on which devices the run gives the same bits; one or two lines
  std::string output;        // run directory
  std::string teacher = {};  // what config.distill names; empty: there is no teacher
  std::string initial_weights = {};  // what was loaded from init.from; empty: random weights
  std::string resumed_from;          // checkpoint path; empty for a new run
  int64_t resumed_step = 0;          // optimizer steps already done
  // The lines that this process writes to audit.jsonl before its first step; empty if the run keeps
  // no chain, or continues in the same folder with an unchanged root. audit_goes_on: existing lines
  // up to resumed_step stay.
  std::string audit_lines = {};
  bool audit_goes_on = false;
  // True if the run begins with the evaluation at resumed_step and its checkpoint, because the
  // earlier run did not finish them.
  bool evaluates_again = false;
};

// Parts of a step, in seconds: means over the lanes (threads that run towers) of this process.
struct StepTimes {
  double data = 0;       // waiting for the batch
  double copy = 0;       // of the batch to a GPU; 0 on CPUs, which read it in place
  double forward = 0;    // of all towers of a lane
  double backward = 0;   // with the sums of gradients over the lane's own towers
  double reduce = 0;     // summing over lanes and devices after backward: exposed communication
  double update = 0;     // of the weights, and waiting until all lanes have updated theirs
  double replicate = 0;  // copying new weights to all replicas, and packing them (packing.h)
  double other = 0;      // the rest of the step
};

// What one device did in a step, and its state. An empty value: the device or its driver does not
// report it.
struct DeviceReport {
  // Time from the start of the step until the gradients of its towers were complete. All devices
  // then wait until the slowest one has arrived.
  double arrival_ms = 0;
  // Time before the start of the step in which the device was idle, because its process waited for
  // the batch.
  double data_ms = 0;
  // Part of arrival_ms: the mean time that its lanes (threads) waited for its slowest lane.
  double lane_wait_ms = 0;
  // The members below are of the newest reading; one is taken every monitor.every_seconds.
  std::optional<double> busy;  // 0..1: share of time in which a GPU, or the device's threads, ran
  // Bytes. GPU: in use by all processes, and its size. CPU: resident memory of this process, and
  // its limit.
  std::optional<uint64_t> memory_used, memory_total;
  std::optional<double> celsius, watts, limit_watts;
  std::optional<int> clock_mhz, max_clock_mhz;  // of the GPU's multiprocessors, of the CPU's cores
  std::vector<std::string> throttle_reasons;    // why the clock is low: "heat", "power cap"
  // Numbers of memory errors since the driver was loaded: uncorrectable ones, and corrected ones.
  std::optional<uint64_t> ecc_errors, ecc_corrected;
  std::optional<uint64_t> link_sent, link_received;  // bytes over NVLink since the driver's load
  std::optional<int> last_xid;                       // the driver's last error code in this run
  // CPU: other programs' use of this process's cores, in cores.
  std::optional<double> others_cores;
};

struct StepReport {
  int64_t step = 0;  // optimizer steps done: 1 after the first
  int64_t total_steps = 0;
  double epoch = 0;  // fractional: 2.5 is the middle of the third epoch
  double loss = 0;
  MetricValue metric;        // of this step's batch
  double epoch_loss = 0;     // mean over the samples of this epoch since this process started
  MetricValue epoch_metric;  // over the same samples
  double lr = 0;
  double grad_norm = 0;  // before clipping
  double samples_per_s = 0;
  double step_ms = 0;
  double data_wait = 0;       // share of the step spent waiting for data, 0..1
  double comm_wait = 0;       // share spent waiting for other devices' gradients
  StepTimes times;            // where the step's time went
  double loss_scale = 0;      // fp16 only; 0 in other precisions
  int64_t skipped_steps = 0;  // fp16: steps so far that were skipped, as gradients overflowed
  bool bad = false;           // a bad step, which the guard undid or kept from the weights
  int64_t bad_steps = 0;      // steps so far that the guard has undone or kept from the weights
  int64_t rollbacks = 0;      // so far
  int64_t samples_seen = 0;
  double eta_seconds = 0;
  std::string parameter_hash;  // of the weights after the step (RunSummary); empty: not computed
  bool record = true;          // belongs in metrics.jsonl (every log.every_steps)
  // The step's line of audit.jsonl, and the chain's value after it, 64 hex digits; empty without
  // audit.chain. Valid during the call of the observer.
  std::string_view audit_line = {}, chain = {};
  // In the order of StartInfo::devices; valid during the call of the observer.
  std::span<const DeviceReport> devices = {};
};

struct EvalReport {
  int64_t step = 0;
  double epoch = 0;
  double loss = 0;
  MetricValue metric;
  int64_t samples = 0;
  double seconds = 0;
  bool best = false;                     // true if this is the best metric of the run so far
  std::vector<MetricValue> others = {};  // the metrics that eval.metrics adds, in its order
  std::optional<Metric> best_by = {};    // the metric that decides `best`; nullopt: `metric`
};

struct CheckpointReport {
  int64_t step = 0;
  std::string path;
  int64_t bytes = 0;
  double snapshot_ms = 0;  // time for which training waited
  double write_ms = 0;     // time to write the file
};

// The last evaluation of a run, and the best metric of all.
struct ValidationSummary {
  double loss = 0;
  MetricValue metric;
  double best = 0;                       // best value of best_by
  bool measured = false;                 // false if the run never evaluated
  Metric best_by = Metric::accuracy;     // the task's metric, or that of best.metric
  std::vector<MetricValue> others = {};  // eval.metrics, of this process's last evaluation
  bool held_out = false;                 // true: of validation data (data.val); false: of test data
};

// The evaluation of the test data at the end of a run with validation data.
struct TestSummary {
  double loss = 0;
  MetricValue metric;
  int64_t step = 0;  // of the weights: of the best checkpoint, or the last ones if there is none
  std::vector<MetricValue> others = {};  // eval.metrics
};

// Outcome of a run, as in summary.json.
struct RunSummary {
  int64_t steps = 0;
  double epochs = 0;
  double train_loss = 0;
  ValidationSummary val;
  std::optional<TestSummary> test = {};  // none: without data.val, or the run was interrupted
  double samples_per_s = 0;
  StepTimes times;  // means over the steps of this process, except its first
  // Hash of all weights and running statistics in fp32, ordered by name; 16 hex digits.
  std::string parameter_hash;
  std::string ema_hash;    // the same of the averaged weights; empty if there are none
  std::string chain = {};  // audit.chain's value after the last step; empty if there is none
  std::vector<std::string> devices;
  int64_t towers = 0;
  int64_t processes = 1;
  std::string strategy;  // as in StartInfo
  double seconds = 0;
  std::map<std::string, int64_t> peak_memory_bytes;     // kind -> bytes: host_rss, weights, ...
  std::map<std::string, int64_t> planned_memory_bytes;  // kind -> bytes, without host_rss
  std::vector<std::string> verdict;  // what the run's time went into, and what to do; a line each
  int exit = 0;                      // the trainer's exit code
  // Why the run ended early: "signal" (RunOptions::stop), "max_time", "early_stop" or the text of
  // an error. Empty: it ran all its steps.
  std::string stopped_by;
  std::string output;      // run directory
  std::string checkpoint;  // path of the last checkpoint; empty if there is none
  std::string metrics;     // path of metrics.jsonl; empty if there is none
};

class SPIRE_API Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_start(const StartInfo&) {}
  virtual void on_step(const StepReport&) {}
  virtual void on_eval(const EvalReport&) {}
  // Result on the test data, evaluated once at the end of a run with validation data. `step`: of
  // the evaluated weights (TestSummary).
  virtual void on_test(const EvalReport&) {}
  virtual void on_checkpoint(const CheckpointReport&) {}
  virtual void on_note(std::string_view) {}  // information; nothing is wrong
  virtual void on_warning(std::string_view) {}
  virtual void on_end(const RunSummary&) {}
  // Describes output that could not be written; empty if all was written.
  virtual std::string lost() const { return ""; }
};

// Passes every event to its observers in the order in which they were added.
class SPIRE_API ObserverList : public Observer {
 public:
  void add(std::unique_ptr<Observer> observer) { observers_.push_back(std::move(observer)); }

  void on_start(const StartInfo& start) override;
  void on_step(const StepReport& step) override;
  void on_eval(const EvalReport& eval) override;
  void on_test(const EvalReport& eval) override;
  void on_checkpoint(const CheckpointReport& checkpoint) override;
  void on_note(std::string_view text) override;
  void on_warning(std::string_view text) override;
  void on_end(const RunSummary& summary) override;
  std::string lost() const override;  // of the first observer that lost output

 private:
  std::vector<std::unique_ptr<Observer>> observers_;
};

// The observers of `trainer`, for programs that embed runs: lines for people, the files of a run,
// and a server for Prometheus and browsers. Join several by an ObserverList.

// Capabilities of a stream that may be a terminal.
struct Terminal {
  bool interactive = false;                        // a line can be rewritten in place
  bool colour = false;                             // implies interactive
  std::function<int()> width = [] { return 80; };  // columns at this moment
};

// Returns the capabilities of an open descriptor, as NO_COLOR and TERM in the environment allow.
SPIRE_API Terminal terminal_of(int descriptor);

struct ConsoleOptions {
  Terminal terminal = {};       // of the log stream
  double every_seconds = 10.0;  // between progress lines if the log is no terminal
  bool quiet = false;           // print only warnings and the end block
  bool warnings = true;         // print warnings
  std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;
};

// Writes the end block to `results` and all else to `log`; both outlive the observer. On a terminal
// one progress line is rewritten in place, at most ten times a second, and other text is printed
// above it. Elsewhere progress is a timestamped line without escapes: for the first and the last
// step, every `every_seconds`, and before an evaluation.
SPIRE_API std::unique_ptr<Observer> console_observer(std::ostream& log, std::ostream& results,
                                                     const ConsoleOptions& options = {});

// Receives a line of text, on the thread of the run.
using SayLine = std::function<void(std::string_view)>;

// Writes the files of a run into config.output: metrics.jsonl, audit.jsonl and summary.json
// (docs/metrics.md), and with log.tensorboard the folder tensorboard. warn: must not be empty;
// called once for each file that cannot be written. on_start() throws Error(config) for files that
// cannot be opened.
SPIRE_API std::unique_ptr<Observer> file_observer(const RunConfig& config, const SayLine& warn);

// Serves the run over HTTP, from this call until on_end() returns, at the addresses
// monitor.prometheus and monitor.serve (docs/monitoring.md). If both are "none", it does nothing.
// note, warn: must not be empty; on_start() notes the addresses and warns if other machines can
// reach them. Throws Error(config) for an address that cannot be used. Answers on its own threads.
SPIRE_API std::unique_ptr<Observer> http_observer(const RunConfig& config, const SayLine& note,
                                                  const SayLine& warn);

}  // namespace spire
