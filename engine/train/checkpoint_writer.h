// Writes checkpoints behind the step loop's back.
#pragma once
#include <spire/train/snapshot.h>

#include <array>
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

namespace spire {

// One attempt to write one checkpoint.
struct CheckpointResult {
  int64_t step = 0;
  std::filesystem::path path;  // empty: not written
  int64_t bytes = 0;
  double write_ms = 0;
  std::string error;  // empty: written
  bool final = true;  // false: it will be tried again, if no newer one comes first
};

// Two snapshots in turn: while one is being written, the step loop fills the other. So buffer()
// waits only when one is being written and another is already submitted; a step loop that submits
// less often than the disk can write never waits for the disk.
//
// A failed write is tried again after each of the waits in `backoff`, unless it is a LastingError,
// as of a folder that cannot be written into: that ends the attempts at once. A newer snapshot ends
// these waits and takes the failed one's place, because it is worth more: a full disk never blocks
// training.
//
// buffer, submit, report, wait_idle and the destructor belong to one thread, the step loop's.
class CheckpointWriter {
 public:
  using Save =
      std::function<std::filesystem::path(const TrainingState&)>;  // runs on the writer's thread
  using Backoff = std::vector<std::chrono::milliseconds>;
  static Backoff default_backoff();  // 1 s, 5 s, 20 s, 60 s

  // cores: where the thread runs; empty: where its creator does.
  explicit CheckpointWriter(Save save, Backoff backoff = default_backoff(),
                            const std::vector<int>& cores = {});
  // Ends a wait between attempts, gives what is submitted one last attempt, then joins the thread.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // The snapshot to fill next. It keeps the vectors of its last use, so filling allocates nothing.
  // Valid until submit().
  TrainingState& buffer();
  void submit();

  // Calls `tell` here and now for every attempt since the last call.
  void report(const std::function<void(const CheckpointResult&)>& tell);

  // Waits until all that was submitted is written or given up.
  void wait_idle();
  // The same for a limited time; whether it came to that.
  bool wait_idle(std::chrono::milliseconds at_most);

  // From here on a snapshot that fails is given up after one more attempt, without a wait.
  void stop_retrying();

  // Why the newest submitted checkpoint is not on disk; nothing when it is. Meant after
  // wait_idle().
  std::optional<std::string> failure() const;

 private:
  enum class Slot { free, filling, submitted };

  void run();
  void write(std::unique_lock<std::mutex>& lock);
  bool attempt(bool last, std::unique_lock<std::mutex>& lock);
  bool idle() const { return slots_[0] != Slot::submitted && slots_[1] != Slot::submitted; }
  bool impatient() const { return stopping_ || !retrying_; }
  bool superseded() const { return slots_[1 - write_] == Slot::submitted; }

  const Save save_;
  const Backoff backoff_;
  std::array<TrainingState, 2> states_;  // a slot's owner: step loop while filling, else the writer

  // Protected by mutex_:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Slot, 2> slots_{Slot::free, Slot::free};
  size_t fill_ = 0;   // slot of the next buffer(): both sides take the slots in turn, so that
  size_t write_ = 0;  // checkpoints are written in the order of submit()
  std::vector<CheckpointResult> results_;
  std::optional<std::string> failure_;
  bool retrying_ = true;
  bool stopping_ = false;

  std::jthread thread_;  // last: starts when all else stands
};

}  // namespace spire
