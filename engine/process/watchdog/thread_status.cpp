#include "engine/process/watchdog/thread_status.h"

#include <algorithm>
#include <array>

#include "engine/base/fail.h"
#include "engine/base/steady_time.h"

namespace spire {

std::string phase_text(Phase phase, int64_t detail) {
  constexpr std::array<std::string_view, 12> words = {
      "idle",   "waiting", "start",  "data",       "forward",     "backward", "bucket",
      "update", "eval",    "device", "checkpoint", "device setup"};  // as the enum has them
  if (phase == Phase::bucket) return fmt::format("bucket {}", detail);
  if (phase == Phase::waiting && detail > 0)
    return fmt::format("waiting for bucket {}", detail - 1);
  auto index = static_cast<size_t>(phase);
  return index < words.size() ? std::string(words[index]) : fmt::format("phase {}", index);
}

std::string position_text(const PhaseRow& row) {
  std::string phase = phase_text(row.phase, row.detail);
  if (row.step <= 0) return phase;
  bool works = row.phase != Phase::idle && row.phase != Phase::waiting;
  return fmt::format("{} {} step {}", phase, works ? "of" : "in", row.step);
}

namespace {

constexpr int phase_bits = 8;

// Phase and detail share a word, so that a reader never sees the one without the other.
uint64_t pack(Phase phase, int64_t detail) {
  return static_cast<uint64_t>(detail) << phase_bits | static_cast<uint64_t>(phase);
}
Phase phase_in(uint64_t word) {
  return static_cast<Phase>(word & ((1u << phase_bits) - 1));
}
// Arithmetic shift: the sign comes back.
int64_t detail_in(uint64_t word) {
  return static_cast<int64_t>(word) >> phase_bits;
}

Category category_of(const std::exception& error) {
  Category category = classify(error).category();
  return category == Category::unexpected ? Category::collective : category;
}

}  // namespace

bool is_foreign(const std::exception& error) {
  return dynamic_cast<const Error*>(&error) == nullptr &&
         classify(error).category() == Category::unexpected;
}

LaneError::LaneError(const PhaseRow& position, const std::exception& error)
    : Error(category_of(error), fmt::format("{}, {}: {}", position.thread, position_text(position),
                                            classify(error).what())) {
  if (is_foreign(error)) cause_ = std::current_exception();
}

ThreadStatus::ThreadStatus(std::vector<std::string> threads)
    : names_(std::move(threads)), rows_(std::make_unique<Row[]>(names_.size())) {
  for (size_t i = 0; i < names_.size(); ++i) rows_[i].since.store(steady_ns());
}

// The time is stored before the phase (release), and read after it (acquire): a reader that sees
// the new phase also sees its time, and never adds the time of the former phase to it.
void ThreadStatus::enter(int row, Phase phase, int64_t detail) {
  rows_[row].since.store(steady_ns(), std::memory_order_relaxed);
  rows_[row].word.store(pack(phase, detail), std::memory_order_release);
  if (hook_) hook_(read(row));
}

void ThreadStatus::wait(int row, const std::function<void()>& wait) {
  struct Return {  // also where the wait ends with an exception: its message names the phase
    ThreadStatus& status;
    int row;
    PhaseRow before;
    ~Return() { status.enter(row, before.phase, before.detail); }
  } back{*this, row, read(row)};
  enter(row, Phase::waiting);
  wait();
}

PhaseRow ThreadStatus::read(int row) const {
  require(row >= 0 && row < size(), "thread status: row {} of {}", row, size());
  uint64_t word = rows_[row].word.load(std::memory_order_acquire);
  int64_t since = rows_[row].since.load(std::memory_order_relaxed);
  PhaseRow result;
  result.thread = names_[static_cast<size_t>(row)];
  result.phase = phase_in(word);
  result.detail = detail_in(word);
  result.step = step_.load(std::memory_order_relaxed);
  // max: the thread may have entered a phase between the two clock readings.
  result.seconds = static_cast<double>(std::max<int64_t>(steady_ns() - since, 0)) * 1e-9;
  return result;
}

std::vector<PhaseRow> ThreadStatus::read() const {
  std::vector<PhaseRow> rows;
  rows.reserve(names_.size());
  for (int row = 0; row < size(); ++row) rows.push_back(read(row));
  return rows;
}

}  // namespace spire
