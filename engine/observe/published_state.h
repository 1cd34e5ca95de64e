// What a run has reported so far, kept for threads that publish it.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spire/observer.h>

#include "engine/observe/formatting.h"
#include "engine/observe/page/downsampled_curve.h"

namespace spire {

// What had been reported of a run at one moment. An empty value is one that has not been reported.
struct PublishedState {
  using Time = std::chrono::system_clock::time_point;
  static constexpr size_t max_messages = 50;

  struct Message {
    Time time;
    bool warning;
    std::string text;
  };
  struct End {
    int exit = 0;
    std::string stopped_by;
  };

  std::shared_ptr<const StartInfo> start;  // null before the start
  Time start_at;                           // when it was reported
  std::optional<StepReport> step;          // without devices, hash and chain
  Time step_at;                            // when it was reported
  std::vector<DeviceReport> devices;       // of that step; empty, or as StartInfo::devices
  std::optional<EvalReport> eval, best;    // the last one, and the best of this process
  std::optional<CheckpointReport> checkpoint;
  Time checkpoint_at;
  int64_t checkpoints = 0, warnings = 0;  // numbers of both in this process

  // Over the steps: loss, metric, samples per second, learning rate, epoch.
  std::array<DownsampledCurve, 5> curve;
  std::array<DownsampledCurve, 2> evals;  // loss, metric
  std::deque<Message> messages;           // notes and warnings, the oldest first
  std::optional<End> end;
};

// Keeps what a run has reported so far, for other threads. on_step() copies numbers under a lock
// that readers hold while they copy the state. It allocates only when a device's throttle reasons
// change.
class LatestState : public Observer {
 public:
  explicit LatestState(WallClock now = wall_time) : now_(std::move(now)) {}

  void on_start(const StartInfo& start) override;
  void on_step(const StepReport& step) override;
  void on_eval(const EvalReport& eval) override;
  void on_checkpoint(const CheckpointReport& checkpoint) override;
  void on_note(std::string_view text) override { add_message(false, text); }
  void on_warning(std::string_view text) override { add_message(true, text); }
  void on_end(const RunSummary& summary) override;

  PublishedState state() const;  // any thread
  PublishedState::Time now() const { return now_(); }

 private:
  void add_message(bool warning, std::string_view text);

  const WallClock now_;
  mutable std::mutex mutex_;  // of the state
  PublishedState state_;
};

// Returns the name that tells a run from others on one screen: the last folder of its output,
// "cifar10_resnet20", or else the model's name.
std::string job_name(const StartInfo& start);

// Returns the text with U+FFFD in place of what is not UTF-8, as in the name of a file.
std::string valid_utf8(std::string_view text);

// Returns the content of the live page's state.json; null where a value is missing or not finite.
std::string page_json(const PublishedState& state, PublishedState::Time now);

// Returns the metrics of a run as Prometheus reads them, in its text format: each that has a value.
// (https://prometheus.io/docs/instrumenting/exposition_formats) Every series has the label `job`,
// the name of the run's directory; those of devices also `rank` and `device`. Metrics of GPUs have
// the names and units of NVIDIA's DCGM exporter. Labels are UTF-8, as Prometheus refuses a page
// with others. free_bytes: of the output's disk.
std::string prometheus_text(const PublishedState& state, std::optional<double> free_bytes);

}  // namespace spire
