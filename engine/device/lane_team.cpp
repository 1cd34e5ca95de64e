#include "engine/device/lane_team.h"

#include <omp.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <latch>
#include <memory>
#include <numeric>
#include <utility>

#include <spire/error.h>

#include "engine/base/thread.h"
#include "engine/device/stream.h"

namespace spire::inline device {
namespace {

// Denormals cost a hundred cycles each and carry no information for training: off on every lane.
void flush_denormals() {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040u);
#endif
}

// The team's other threads are made here, not in the first kernel: what starts threads later finds
// out about limits by an error, where OpenMP would end the program.
// Returns how many threads it got.
int form_team(int threads) {
  std::atomic<int> there{0};
#pragma omp parallel num_threads(threads)
  there.fetch_add(1);
  return there.load();
}

// The team's other threads inherit it from the one that makes them.
int settle(const LaneSpec& spec) {
  omp_set_dynamic(0);
  omp_set_num_threads(spec.threads);
  flush_denormals();
  return spec.threads > 1 ? form_team(spec.threads) : 1;
}

struct Settled {
  explicit Settled(int count) : lanes(count) {}
  std::latch lanes;
  std::atomic<int> threads{0};
  // Where OpenMP cannot start a thread it ends the program, which two threads must not do at once.
  std::mutex one_at_a_time;
};

int all_threads(const std::vector<LaneSpec>& lanes) {
  auto add = [](int sum, const LaneSpec& lane) { return sum + std::max(1, lane.threads); };
  return std::accumulate(lanes.begin(), lanes.end(), 0, add);
}

}  // namespace

LaneTeam::LaneTeam(std::vector<LaneSpec> lanes, const std::string& name)
    : specs_(std::move(lanes)), barrier_(static_cast<int>(specs_.size())), errors_(specs_.size()) {
  require(!specs_.empty(), "a lane team needs at least one lane");
  prove_threads(all_threads(specs_), name);
  threads_.reserve(specs_.size());
  auto settled = std::make_shared<Settled>(size());
  try {
    for (int lane = 0; lane < size(); ++lane) {
      ThreadPlace place{fmt::format("{} {}", name, lane), spec(lane).cores};
      threads_.push_back(start_thread(std::move(place), [this, lane, settled] {
        {
          std::lock_guard lock(settled->one_at_a_time);
          settled->threads.fetch_add(settle(spec(lane)));
        }
        settled->lanes.count_down();
        run_lane(lane);
      }));
    }
  } catch (...) {
    release();  // those that were started: they are joined with the members
    throw;
  }
  settled->lanes.wait();
  if (settled->threads.load() == all_threads(specs_)) return;
  release();
  fail(Category::device,
       "OpenMP started {} of {} threads; raise OMP_THREAD_LIMIT, or lower "
       "tower_threads",
       settled->threads.load(), all_threads(specs_));
}

LaneTeam::~LaneTeam() {
  release();
}

void LaneTeam::release() {
  {
    std::lock_guard lock(lead_mutex_);
    quit_.store(true);
  }
  lead_changed_.notify_all();
  generation_.fetch_add(1);
  generation_.notify_all();
}

void LaneTeam::lead(const std::function<void()>& body) {
  std::unique_lock lock(lead_mutex_);
  lead_body_ = &body;
  lead_changed_.notify_all();
  lead_changed_.wait(lock, [this] { return lead_body_ == nullptr; });
  if (lead_error_) std::rethrow_exception(std::exchange(lead_error_, nullptr));
}

void LaneTeam::parallel(const std::function<void(int)>& body) {
  body_ = &body;
  running_.store(static_cast<uint32_t>(size() - 1), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  generation_.notify_all();
  run_body(0);
  for (uint32_t left; (left = running_.load(std::memory_order_acquire)) != 0;) {
    wait_while_equal(running_, left);
  }
  barrier_.mend();
  std::exception_ptr first;
  for (auto& error : errors_) {
    if (error && !first) first = error;
    error = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

void LaneTeam::run_body(int lane) {
  try {
    make_current(spec(lane).device);
    (*body_)(lane);
  } catch (const BarrierBroken&) {  // another lane's error, kept there
  } catch (...) {
    errors_[static_cast<size_t>(lane)] = std::current_exception();
    barrier_.break_up();
  }
}

void LaneTeam::run_lane(int lane) {
  if (lane == 0) {
    run_leader();
  } else {
    run_follower(lane);
  }
}

void LaneTeam::run_leader() {
  std::unique_lock lock(lead_mutex_);
  for (;;) {
    lead_changed_.wait(lock, [this] { return lead_body_ || quit_.load(); });
    if (quit_.load()) return;
    lock.unlock();
    try {
      make_current(spec(0).device);
      (*lead_body_)();
    } catch (...) {
      lead_error_ = std::current_exception();
    }
    lock.lock();
    lead_body_ = nullptr;
    lead_changed_.notify_all();
  }
}

void LaneTeam::run_follower(int lane) {
  for (uint32_t seen = 0;; ++seen) {
    wait_while_equal(generation_, seen);
    if (quit_.load()) return;
    run_body(lane);
    running_.fetch_sub(1, std::memory_order_acq_rel);
    running_.notify_all();
  }
}

}  // namespace spire::inline device
