// Writes checkpoints behind the step loop's back.
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

#include "engine/checkpoint/snapshot.h"

namespace spire::inline checkpoint {

// One attempt to write one checkpoint.
struct CheckpointResult {
  int64_t step = 0;
  std::filesystem::path path;  // empty: not written
  int64_t bytes = 0;
  double write_ms = 0;
  std::string error;  // empty: written
  bool final = true;  // false: it will be tried again, if no newer one comes first
};

// One checkpoint at a time, from one place: `save` knows where its tensors lie, and they stay as
// they are from submit() until it is written or given up. That place is either
// - a snapshot of the state, a copy in memory. Then it is written while training goes on, and a
//   step loop that submits less often than the disk can write never waits for the disk; or
// - the state itself, where there is no memory for a copy. Then the step loop has it written before
//   it goes on: write_now().
//
// A failed write is tried again after each of the waits in `backoff`, unless it is a
// PermanentError, as of a folder that cannot be written into: that ends the attempts at once.
// begin() ends these waits, too: the newer checkpoint is worth more and takes the failed one's
// place. So a full disk never blocks training; a step loop waits at most for the attempt that is
// just being made.
//
// All but the construction is for one thread, the step loop's.
class CheckpointWriter {
 public:
  using Save =
      std::function<std::filesystem::path(const StateMetadata&)>;  // runs on the writer's thread
  using Backoff = std::vector<std::chrono::milliseconds>;
  static Backoff default_backoff();  // 1 s, 5 s, 20 s, 60 s

  // cores: where the thread runs; empty: where its creator does.
  explicit CheckpointWriter(Save save, Backoff backoff = default_backoff(),
                            const std::vector<int>& cores = {});
  // Ends a wait between attempts, gives what is submitted one last attempt, then joins the thread.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // From here to submit() nothing reads the place of the tensors, or this, which describes them.
  // Waits for an attempt that is under way; a checkpoint that waits for another one is given up.
  StateMetadata& begin();
  void submit();
  // submit(), and waits for one attempt; where it fails the checkpoint is given up.
  void write_now();

  // Calls `tell` here and now for every attempt since the last call.
  void report(const std::function<void(const CheckpointResult&)>& tell);

  // Waits until all that was submitted is written or given up.
  void wait_idle();
  // The same for a limited time; whether it came to that.
  bool wait_idle(std::chrono::milliseconds at_most);

  // From here on a checkpoint that fails is given up after one more attempt, without a wait.
  void stop_retrying();

  // Why the newest submitted checkpoint is not on disk; nothing when it is. Meant after
  // wait_idle().
  std::optional<std::string> failure() const;

 private:
  enum class Slot { free, filling, submitted, waiting };  // waiting: to be tried again

  void run();
  void write(std::unique_lock<std::mutex>& lock);
  bool attempt(bool last, std::unique_lock<std::mutex>& lock);
  void free_slot();
  void hand_over(bool once);
  bool idle() const { return slot_ == Slot::free || slot_ == Slot::filling; }
  bool impatient() const { return stopping_ || !retrying_ || once_; }

  const Save save_;
  const Backoff backoff_;
  StateMetadata state_;  // the step loop's while filling, else the writer's

  // Protected by mutex_:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Slot slot_ = Slot::free;
  bool once_ = false;  // there is one attempt
  std::vector<CheckpointResult> results_;
  std::optional<std::string> failure_;
  bool retrying_ = true;
  bool stopping_ = false;

  std::jthread thread_;  // last: starts when all else stands
};

}  // namespace spire::inline checkpoint
