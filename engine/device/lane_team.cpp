#include "engine/device/lane_team.h"

#include <omp.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <latch>
#include <memory>
#include <numeric>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/thread.h"
#include "engine/device/load/crowded_cores.h"
#include "engine/device/stream.h"

namespace spire {
void wait_while_equal(const std::atomic<uint32_t>& word, uint32_t old) {
  // About 50 microseconds: longer than lanes usually wait for each other within a step, shorter
  // than a time slice, so that a neighbour on the same core loses little.
  constexpr int spins = 2000;
  for (int i = 0; i < spins; ++i) {
    if (word.load(std::memory_order_acquire) != old) return;
    spin_pause();
  }
  word.wait(old, std::memory_order_acquire);
}

// The last thread to arrive starts the next phase; the others wait for phase_ to change. A thread
// reads phase_ before it counts itself: afterwards the phase might already be over.
void Barrier::wait() {
  uint32_t phase = phase_.load(std::memory_order_acquire);
  if (broken_.load()) throw BarrierBroken{};
  // acq_rel: the last thread sees what all others wrote before they arrived.
  if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    // Relaxed is enough: nobody counts himself again before he has seen the new phase.
    waiting_.store(0, std::memory_order_relaxed);
    phase_.fetch_add(1, std::memory_order_acq_rel);
    phase_.notify_all();
  } else {
    wait_while_equal(phase_, phase);
  }
  if (broken_.load()) throw BarrierBroken{};
}

// broken_ is set before the phase changes, so that a released thread sees it.
void Barrier::abort_waits() {
  broken_.store(true);
  phase_.fetch_add(1, std::memory_order_acq_rel);
  phase_.notify_all();
}

void Barrier::reset() {
  broken_.store(false);
  waiting_.store(0);
}

namespace {

// Denormals cost a hundred cycles each and carry no information for training: off on every lane.
// 0x8040 is flush-to-zero and denormals-are-zero. Returns the thread's settings before.
uint32_t flush_denormals() {
#if defined(__x86_64__)
  uint32_t before = _mm_getcsr();
  _mm_setcsr(before | 0x8040u);
  return before;
#else
  return 0;
#endif
}

// Starts the OpenMP team of the calling thread and returns its size. Without this the first kernel
// would start it; if a limit is reached there, libgomp ends the program, whereas start_thread
// reports an error.
int start_openmp_team(int threads) {
  std::atomic<int> started{0};
#pragma omp parallel num_threads(threads)
  started.fetch_add(1);
  return started.load();
}

// The settings of a lane of one thread, for a while.
struct CallerAsLane {
  DenormalsFlushed flushed;
  int team = omp_get_max_threads();

  CallerAsLane() { omp_set_num_threads(1); }
  ~CallerAsLane() { omp_set_num_threads(team); }
  CallerAsLane(const CallerAsLane&) = delete;
  CallerAsLane& operator=(const CallerAsLane&) = delete;
};

// Sets up the calling thread for its lane and returns its number of threads. The team's other
// threads inherit the settings, so these come first.
int set_up_thread(const LaneSpec& spec) {
  omp_set_dynamic(0);
  omp_set_num_threads(spec.threads);
  flush_denormals();
  return spec.threads > 1 ? start_openmp_team(spec.threads) : 1;
}

// State that the lanes share while they start. A shared_ptr owns it: the constructor may throw
// while a thread still uses it.
struct Startup {
  explicit Startup(int count) : lanes(count) {}
  std::latch lanes;             // counts down the lanes that are set up
  std::atomic<int> threads{0};  // started so far, OpenMP's included
  // libgomp ends the program if it cannot start a thread, which two threads must not do at once.
  std::mutex one_at_a_time;
};

int total_threads(const std::vector<LaneSpec>& lanes) {
  auto add = [](int sum, const LaneSpec& lane) { return sum + std::max(1, lane.threads); };
  return std::accumulate(lanes.begin(), lanes.end(), 0, add);
}

}  // namespace

DenormalsFlushed::DenormalsFlushed() : before_(flush_denormals()) {}

DenormalsFlushed::~DenormalsFlushed() {
#if defined(__x86_64__)
  _mm_setcsr(before_);
#endif
}

LaneTeam::LaneTeam(std::vector<LaneSpec> lanes, const std::string& name)
    : specs_(std::move(lanes)), barrier_(static_cast<int>(specs_.size())), errors_(specs_.size()) {
  require(!specs_.empty(), "a lane team needs at least one lane");
  if (spec(0).on_caller) {
    require(size() == 1 && spec(0).threads == 1 && spec(0).device.kind == DeviceKind::cpu,
            "a team on its caller's thread has one lane of one thread on a CPU");
    return;
  }
  prove_threads(total_threads(specs_), name);
  if (std::ranges::any_of(specs_, [](const LaneSpec& lane) { return lane.threads > 1; }))
    crowded_cores_ = std::make_unique<CrowdedCores>(specs_);
  start(name);
}

void LaneTeam::start(const std::string& name) {
  threads_.reserve(specs_.size());
  auto startup = std::make_shared<Startup>(size());
  try {
    for (int lane = 0; lane < size(); ++lane) {
      ThreadPlace place{fmt::format("{} {}", name, lane), spec(lane).cores};
      threads_.push_back(start_thread(std::move(place), [this, lane, startup] {
        {
          std::lock_guard lock(startup->one_at_a_time);
          startup->threads.fetch_add(set_up_thread(spec(lane)));
        }
        startup->lanes.count_down();
        run_lane(lane);
      }));
    }
  } catch (...) {
    release();  // lets the started lanes end; the destructor of threads_ joins them
    throw;
  }
  startup->lanes.wait();
  if (startup->threads.load() == total_threads(specs_)) return;
  release();
  fail(Category::device,
       "OpenMP started {} of {} threads; raise OMP_THREAD_LIMIT, or lower "
       "tower_threads",
       startup->threads.load(), total_threads(specs_));
}

LaneTeam::~LaneTeam() {
  release();
}

// Wakes the leader, which waits for lead_changed_, and the followers, which wait for generation_.
// quit_ changes under the mutex, or the leader could miss the notification between test and wait.
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
  if (spec(0).on_caller) {
    CallerAsLane settings;
    return body();
  }
  std::unique_lock lock(lead_mutex_);
  lead_body_ = &body;
  lead_changed_.notify_all();
  lead_changed_.wait(lock, [this] { return lead_body_ == nullptr; });
  if (lead_error_) std::rethrow_exception(std::exchange(lead_error_, nullptr));
}

void LaneTeam::parallel(const std::function<void(int)>& body) {
  // Publish the body. The release of generation_ makes body_ and running_ visible to followers.
  body_ = &body;
  running_.store(static_cast<uint32_t>(size() - 1), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  generation_.notify_all();
  run_body(0);
  // Wait for the followers. The acquire of running_ makes errors_ visible here.
  for (uint32_t left; (left = running_.load(std::memory_order_acquire)) != 0;) {
    wait_while_equal(running_, left);
  }
  // All lanes are out of the body, so nobody waits at the barrier, broken or not.
  barrier_.reset();
  std::exception_ptr first;
  for (auto& error : errors_) {
    if (error && !first) first = error;
    error = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

// Records the lane's own error. The lane that failed breaks the barrier; the others leave by
// BarrierBroken, which is no error of theirs.
void LaneTeam::run_body(int lane) {
  try {
    make_current(spec(lane).device);
    settle(lane);
    (*body_)(lane);
  } catch (const BarrierBroken&) {
  } catch (...) {
    errors_[static_cast<size_t>(lane)] = std::current_exception();
    barrier_.abort_waits();
  }
}

void LaneTeam::settle(int lane) {
  if (crowded_cores_) crowded_cores_->settle(lane);
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
      settle(0);
      (*lead_body_)();
    } catch (...) {
      lead_error_ = std::current_exception();
    }
    lock.lock();
    lead_body_ = nullptr;
    lead_changed_.notify_all();
  }
}

// A follower runs each generation once: parallel() waits for all followers before it starts the
// next, so `seen` never falls behind by more than one.
void LaneTeam::run_follower(int lane) {
  for (uint32_t seen = 0;; ++seen) {
    wait_while_equal(generation_, seen);
    if (quit_.load()) return;
    run_body(lane);
    running_.fetch_sub(1, std::memory_order_acq_rel);
    running_.notify_all();
  }
}

StreamBarrier::StreamBarrier(LaneTeam& team, std::vector<Stream*> streams)
    : team_(team), streams_(std::move(streams)), turn_(streams_.size(), 0) {
  for (auto& events : events_) {
    for (Stream* stream : streams_) events.push_back(stream->make_event());
  }
}

// The thread barrier between recording and waiting makes every event recorded before anyone waits
// for it. An event that was never recorded would be no wait at all. Two sets of events take turns:
// a lane may record the next meeting's event before another has waited for this meeting's.
void StreamBarrier::meet(int lane) {
  auto self = static_cast<size_t>(lane);
  auto& events = events_[turn_[self]];
  turn_[self] = 1 - turn_[self];
  streams_[self]->record(*events[self]);
  team_.barrier();
  for (size_t other = 0; other < events.size(); ++other) {
    if (other != self) streams_[self]->wait_for(*events[other]);
  }
}

}  // namespace spire
