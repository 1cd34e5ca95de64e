#include "engine/checkpoint/checkpoint_writer.h"

#include <utility>

#include "engine/base/fail.h"
#include "engine/base/thread.h"
#include "engine/base/write_file.h"

namespace spire {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Runs without the lock, as it takes long. An exception of `save` becomes the result's error.
CheckpointResult save_now(const CheckpointWriter::Save& save, const StateMetadata& state) {
  CheckpointResult result;
  result.final = false;
  result.step = state.step;
  Clock::time_point start = Clock::now();
  try {
    std::filesystem::path path = save(state);
    std::error_code unknown;
    auto bytes = std::filesystem::file_size(path, unknown);
    result.bytes = unknown ? 0 : static_cast<int64_t>(bytes);
    result.path = std::move(path);
  } catch (const std::exception& error) {
    result.error = error.what();
    if (classify(error).category() == Category::device) result.category = Category::device;
    result.final = dynamic_cast<const PermanentError*>(&error) != nullptr;
  }
  result.write_ms = milliseconds_since(start);
  return result;
}

}  // namespace

CheckpointWriter::RetryDelays CheckpointWriter::default_retry_delays() {
  using std::chrono::seconds;
  return {seconds(1), seconds(5), seconds(20), seconds(60)};
}

CheckpointWriter::CheckpointWriter(Save save, RetryDelays retry_delays,
                                   const std::vector<int>& cores)
    : save_(std::move(save)),
      retry_delays_(std::move(retry_delays)),
      thread_(start_thread({"writer", cores}, [this] { run(); })) {}

// stopping_ ends a wait between attempts; the thread then makes the last one, and is joined.
CheckpointWriter::~CheckpointWriter() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

// A slot that waits for its next attempt is taken: write() sees that it is not its own any more.
StateMetadata& CheckpointWriter::begin() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return slot_ != Slot::submitted; });
  slot_ = Slot::filling;
  changed_.notify_all();
  return state_;
}

void CheckpointWriter::submit() {
  hand_over(false);
}

void CheckpointWriter::write_now() {
  hand_over(true);
  wait_idle();
}

void CheckpointWriter::hand_over(bool once) {
  {
    std::lock_guard lock(mutex_);
    require(slot_ == Slot::filling, "checkpoint writer: submit() without a begin()");
    slot_ = Slot::submitted;
    once_ = once;
  }
  changed_.notify_all();
}

void CheckpointWriter::report(const std::function<void(const CheckpointResult&)>& observe) {
  std::vector<CheckpointResult> results;
  {
    std::lock_guard lock(mutex_);
    results.swap(results_);
  }
  for (const auto& result : results) observe(result);
}

void CheckpointWriter::wait_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return idle(); });
}

bool CheckpointWriter::wait_idle(std::chrono::milliseconds at_most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, at_most, [this] { return idle(); });
}

void CheckpointWriter::stop_retrying() {
  {
    std::lock_guard lock(mutex_);
    retrying_ = false;
  }
  changed_.notify_all();
}

std::optional<std::string> CheckpointWriter::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

Category CheckpointWriter::failure_category() const {
  std::lock_guard lock(mutex_);
  return failure_category_;
}

void CheckpointWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || slot_ == Slot::submitted; });
    if (slot_ != Slot::submitted) return;  // stopping, and nothing is left to write
    write(lock);
  }
}

// Makes all attempts at one checkpoint: a full disk costs retries here, and the step loop waits at
// most for the attempt under way. Ends where a newer checkpoint takes the slot. lock: held on entry
// and on return, released while writing or waiting. Returns with the slot free or taken.
void CheckpointWriter::write(std::unique_lock<std::mutex>& lock) {
  for (auto wait : retry_delays_) {
    if (attempt(false, lock) || impatient()) return free_slot();
    slot_ = Slot::waiting;
    changed_.notify_all();
    changed_.wait_for(lock, wait, [this] { return impatient() || slot_ != Slot::waiting; });
    if (slot_ != Slot::waiting) return;  // replaced by a newer checkpoint
    slot_ = Slot::submitted;
  }
  attempt(true, lock);
  free_slot();
}

void CheckpointWriter::free_slot() {
  slot_ = Slot::free;
  changed_.notify_all();
}

bool CheckpointWriter::attempt(bool last, std::unique_lock<std::mutex>& lock) {
  lock.unlock();  // nobody else writes state_ while the slot is submitted
  CheckpointResult result = save_now(save_, state_);
  lock.lock();
  bool written = result.error.empty();
  result.final = result.final || written || last || impatient();
  failure_ = written ? std::nullopt : std::optional(result.error);
  failure_category_ = result.category;
  results_.push_back(std::move(result));
  return written || results_.back().final;
}

}  // namespace spire
