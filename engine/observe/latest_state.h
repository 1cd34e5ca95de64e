// The newest numbers of a run, kept for threads that publish them.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <spire/observer.h>

#include "engine/observe/formatting.h"

namespace spire {

// What had been reported of a run at one moment. An empty value is one that has not been reported.
struct PublishedState {
  using Time = std::chrono::system_clock::time_point;

  std::shared_ptr<const StartInfo> start;  // null before the start
  Time start_at;                           // when it was reported
  std::optional<StepReport> step;          // without devices, hash and chain
  Time step_at;                            // when it was reported
  std::vector<DeviceReport> devices;       // of that step; empty, or as StartInfo::devices
  std::optional<EvalReport> eval, best;    // the last one, and the best of this process
  std::optional<CheckpointReport> checkpoint;
  Time checkpoint_at;
  int64_t checkpoints = 0, warnings = 0;  // numbers of both in this process
};

// on_step() copies numbers under a lock that readers hold for the time of a copy. It allocates only
// when a device's throttle reasons change.
class LatestState : public Observer {
 public:
  explicit LatestState(WallClock now = wall_time) : now_(std::move(now)) {}

  void on_start(const StartInfo& start) override;
  void on_step(const StepReport& step) override;
  void on_eval(const EvalReport& eval) override;
  void on_checkpoint(const CheckpointReport& checkpoint) override;
  void on_warning(std::string_view text) override;

  PublishedState state() const;  // any thread

 private:
  const WallClock now_;
  mutable std::mutex mutex_;  // of the state
  PublishedState state_;
};

}  // namespace spire
