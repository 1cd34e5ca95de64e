// Writes checkpoints on a background thread.
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

namespace spire {

// One attempt to write one checkpoint.
struct CheckpointResult {
  int64_t step = 0;
  std::filesystem::path path;  // empty if it was not written
  int64_t bytes = 0;
  double write_ms = 0;
  std::string error;                         // empty if it was written
  Category category = Category::checkpoint;  // of the error
  bool final = true;  // false: it will be retried, unless a newer checkpoint takes its turn
};

// Writes one checkpoint at a time. Its tensors must not change from submit() until it is written or
// given up: they are a snapshot, or training waits (write_now()). A failed write is retried after
// each of `retry_delays`, except after a PermanentError, and until begin() starts the next
// checkpoint. Only the thread of the training loop may call the methods.
class CheckpointWriter {
 public:
  using Save =
      std::function<std::filesystem::path(const StateMetadata&)>;  // on its thread; returns a path
  using RetryDelays = std::vector<std::chrono::milliseconds>;
  static RetryDelays default_retry_delays();  // 1 s, 5 s, 20 s, 60 s

  explicit CheckpointWriter(Save save, RetryDelays retry_delays = default_retry_delays(),
                            const std::vector<int>& cores = {});  // empty: caller's
  ~CheckpointWriter();  // makes one last attempt if a checkpoint is pending
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Begins a checkpoint: returns the metadata, which the caller fills before submit(). Waits for an
  // attempt in progress; a checkpoint that waits for its next attempt is given up.
  StateMetadata& begin();
  void submit();
  void write_now();  // submits, and waits for a single attempt

  // Calls `observe` for every attempt since the last call.
  void report(const std::function<void(const CheckpointResult&)>& observe);

  // Wait until the submitted checkpoint is written or given up; the second returns false if that
  // takes longer than `at_most`.
  void wait_idle();
  bool wait_idle(std::chrono::milliseconds at_most);

  // Ends retries: a checkpoint that waits for its next attempt gets it at once, as its last.
  void stop_retrying();

  // Error of the last attempt, nullopt if it succeeded, and its category: device for a full disk
  // and the like, else checkpoint. To be called after wait_idle().
  std::optional<std::string> failure() const;
  Category failure_category() const;

 private:
  enum class Slot { free, filling, submitted, waiting };  // waiting: to try again

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
  Category failure_category_ = Category::checkpoint;
  bool retrying_ = true;
  bool stopping_ = false;

  std::jthread thread_;  // last: it uses all other members
};

}  // namespace spire
