// Writes checkpoints on a thread in the background.
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

#include "engine/checkpoint/training_state.h"

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

// Writes one checkpoint at a time. Its tensors must not change from submit() until it is written or
// given up: they are a snapshot, or the step loop waits (write_now()). A failed write is retried
// after each of the waits in `retry_delays`, but not after a PermanentError, nor beyond begin().
// All methods are for one thread, the step loop's.
class CheckpointWriter {
 public:
  using Save =
      std::function<std::filesystem::path(const StateMetadata&)>;  // on the writer's thread
  using RetryDelays = std::vector<std::chrono::milliseconds>;
  static RetryDelays default_retry_delays();  // 1 s, 5 s, 20 s, 60 s

  explicit CheckpointWriter(Save save, RetryDelays retry_delays = default_retry_delays(),
                            const std::vector<int>& cores = {});  // empty: the creator's
  ~CheckpointWriter();  // makes one last attempt if a checkpoint is pending
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Returns the metadata for the caller to fill, which with the tensors is the caller's until
  // submit(). Waits for an attempt under way; a checkpoint between attempts is given up.
  StateMetadata& begin();
  void submit();
  void write_now();  // submits, and waits for the only attempt

  // Calls `observe` for every attempt since the last call.
  void report(const std::function<void(const CheckpointResult&)>& observe);

  // Wait until every submitted checkpoint is written or given up; the second returns whether it is.
  void wait_idle();
  bool wait_idle(std::chrono::milliseconds at_most);

  void stop_retrying();  // from now on a checkpoint that fails has one more attempt, without a wait

  std::optional<std::string> failure() const;  // the newest attempt's error; after wait_idle()

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
