#include <spire/base/error.h>
#include <spire/base/lasting_error.h>
#include <spire/base/thread.h>
#include <spire/train/checkpoint_writer.h>

#include <utility>

namespace spire {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Runs outside the lock; turns whatever `save` throws into the result's error.
CheckpointResult save_now(const CheckpointWriter::Save& save, const TrainingState& state) {
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
    result.final = dynamic_cast<const LastingError*>(&error) != nullptr;
  }
  result.write_ms = milliseconds_since(start);
  return result;
}

}  // namespace

CheckpointWriter::Backoff CheckpointWriter::default_backoff() {
  using std::chrono::seconds;
  return {seconds(1), seconds(5), seconds(20), seconds(60)};
}

CheckpointWriter::CheckpointWriter(Save save, Backoff backoff, const std::vector<int>& cores)
    : save_(std::move(save)),
      backoff_(std::move(backoff)),
      thread_(start_thread({"ckpt writer", cores}, [this] { run(); })) {}

CheckpointWriter::~CheckpointWriter() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

TrainingState& CheckpointWriter::buffer() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return slots_[fill_] != Slot::submitted; });
  slots_[fill_] = Slot::filling;
  return states_[fill_];
}

void CheckpointWriter::submit() {
  {
    std::lock_guard lock(mutex_);
    require(slots_[fill_] == Slot::filling, "checkpoint writer: submit() without a buffer()");
    slots_[fill_] = Slot::submitted;
    fill_ = 1 - fill_;
  }
  changed_.notify_all();
}

void CheckpointWriter::report(const std::function<void(const CheckpointResult&)>& tell) {
  std::vector<CheckpointResult> results;
  {
    std::lock_guard lock(mutex_);
    results.swap(results_);
  }
  for (const auto& result : results) tell(result);
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

void CheckpointWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || slots_[write_] == Slot::submitted; });
    if (slots_[write_] != Slot::submitted) return;  // stopping, and nothing is left to write
    write(lock);
    slots_[write_] = Slot::free;
    write_ = 1 - write_;
    changed_.notify_all();
  }
}

// All attempts at one snapshot: one where no other would go better. lock: held on entry and on
// return, released while working or waiting.
void CheckpointWriter::write(std::unique_lock<std::mutex>& lock) {
  for (auto wait : backoff_) {
    if (attempt(false, lock) || superseded() || impatient()) return;
    changed_.wait_for(lock, wait, [this] { return impatient() || superseded(); });
    if (superseded()) return;
  }
  attempt(true, lock);
}

bool CheckpointWriter::attempt(bool last, std::unique_lock<std::mutex>& lock) {
  const TrainingState& state = states_[write_];
  lock.unlock();
  CheckpointResult result = save_now(save_, state);
  lock.lock();
  bool written = result.error.empty();
  result.final = result.final || written || last || impatient() || superseded();
  failure_ = written ? std::nullopt : std::optional(result.error);
  results_.push_back(std::move(result));
  return written || results_.back().final;
}

}  // namespace spire
