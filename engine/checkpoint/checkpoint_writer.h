// A background thread that writes checkpoints while training goes on.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/checkpoint/state_metadata.h"

namespace spire::inline checkpoint {

// One attempt to write one checkpoint.
struct CheckpointResult {
  int64_t step = 0;
  std::filesystem::path path;  // empty: not written
  int64_t bytes = 0;
  double write_ms = 0;
  std::string error;  // empty: written
  bool final = true;  // false: it will be retried, unless a newer one replaces it
};

// Writes one checkpoint at a time. `save` knows where the tensors are; they must not change from
// submit() until the checkpoint is written or given up. They are either
// - a snapshot, a copy in memory. It is written while training goes on, and a step loop that
//   submits less often than the disk can write never waits for the disk; or
// - the state itself, where there is no memory for a copy. Then the step loop waits until it is
//   written: write_now().
//
// A failed write is retried after each of the waits in `retry_delays`, but for a PermanentError,
// for example of a read-only folder, which ends the attempts at once. begin() ends these waits,
// too: the newer checkpoint replaces the failed one. So a full disk never blocks training; a step
// loop waits at most for the attempt that is under way.
//
// All methods are for one thread, the step loop's.
class CheckpointWriter {
 public:
  using Save =
      std::function<std::filesystem::path(const StateMetadata&)>;  // runs on the writer's thread
  using RetryDelays = std::vector<std::chrono::milliseconds>;
  static RetryDelays default_retry_delays();  // 1 s, 5 s, 20 s, 60 s

  // cores: the thread's; empty: those of its creator.
  explicit CheckpointWriter(Save save, RetryDelays retry_delays = default_retry_delays(),
                            const std::vector<int>& cores = {});
  // Ends a wait between attempts, makes one last attempt if a checkpoint is pending, and joins the
  // thread.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Returns the metadata for the caller to fill. From here to submit() the writer's thread reads
  // neither it nor the tensors. Waits for an attempt that is under way; a checkpoint that waits for
  // its next attempt is given up.
  StateMetadata& begin();
  void submit();
  // Submits, and waits for the only attempt; if that fails the checkpoint is given up.
  void write_now();

  // Calls `tell`, on this thread, for every attempt since the last call.
  void report(const std::function<void(const CheckpointResult&)>& tell);

  // Waits until every submitted checkpoint is written or given up.
  void wait_idle();
  // Waits no longer than that; returns whether it is idle.
  bool wait_idle(std::chrono::milliseconds at_most);

  // Ends the retries: from now on a checkpoint that fails has one more attempt, without a wait.
  void stop_retrying();

  // Returns the error of the newest attempt; nothing when it has written its checkpoint. Meant
  // after wait_idle().
  std::optional<std::string> failure() const;

 private:
  enum class Slot { free, filling, submitted, waiting };  // waiting: for its next attempt

  void run();
  void write(std::unique_lock<std::mutex>& lock);
  bool attempt(bool last, std::unique_lock<std::mutex>& lock);
  void free_slot();
  void hand_over(bool once);
  bool idle() const { return slot_ == Slot::free || slot_ == Slot::filling; }
  bool impatient() const { return stopping_ || !retrying_ || once_; }

  const Save save_;
  const RetryDelays retry_delays_;
  StateMetadata state_;  // owned by the step loop while filling, else by the writer's thread

  // Protected by mutex_:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Slot slot_ = Slot::free;
  bool once_ = false;  // no retries
  std::vector<CheckpointResult> results_;
  std::optional<std::string> failure_;
  bool retrying_ = true;
  bool stopping_ = false;

  std::jthread thread_;  // last: starts when all other members are made
};

}  // namespace spire::inline checkpoint
