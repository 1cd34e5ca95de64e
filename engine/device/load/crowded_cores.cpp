#include "engine/device/load/crowded_cores.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <sys/syscall.h>
#include <utility>

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <spire/error.h>

#include "engine/base/thread.h"
#include "engine/device/lane_team.h"

namespace spire::inline device {
namespace {

constexpr auto interval = std::chrono::milliseconds(200);  // the kernel counts in steps of 10 ms
constexpr auto turn = std::chrono::microseconds(500);

// As libgomp counts them when the process begins.
int cores_of_process() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(getpid(), sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

struct SchedulingAttributes {  // sched_setattr(2), for which the C library has no function
  uint32_t size = sizeof(SchedulingAttributes), policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0, deadline_ns = 0, period_ns = 0;
};

// Asks the kernel to let the calling thread run as soon as it wakes. Since Linux 6.12 it does so
// for threads that want short slices, before for those that slept.
void ask_for_short_slices() {
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  attributes.runtime_ns = 100'000;  // the least that the kernel takes
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

// Half a core that others use makes a thread wait; of many cores, a tenth of them.
int cores_left(double others, int threads, int cores) {
  int wanted = std::min(threads, cores);
  int left = std::max(1, static_cast<int>(std::lround(cores - others)));
  bool enough = left >= wanted || others + wanted - cores < 0.1 * wanted;
  return enough ? 0 : left;
}

std::vector<std::vector<int>> divided_among(const std::vector<int>& cores, int lanes) {
  std::vector<std::vector<int>> parts;
  for (int lane = 0; lane < lanes; ++lane) parts.push_back(cores_of_device(cores, lane, lanes));
  return parts;
}

// The first thread of a team is none of those that libgomp counts. Teams of lanes have fewer
// threads at times, so these alone are as many as it takes.
Turns::Turns(std::vector<int> cores) : cores_(std::move(cores)) {
  int count = std::max(cores_of_process() + 1, static_cast<int>(cores_.size()));
  try {
    prove_threads(count, "turns");
    holder_ = start_thread({"turns", {}}, [this, count] {
#pragma omp parallel num_threads(count)
      hold(omp_get_thread_num());
    });
  } catch (const Error&) {  // limits of the system
  }
}

Turns::~Turns() {
  end_ = true;
  end_.notify_all();
}

void Turns::hold(int number) {
  if (number >= std::ssize(cores_)) return end_.wait(false);
  keep_to_cores({cores_[static_cast<size_t>(number)]});
  ask_for_short_slices();
  while (!end_) std::this_thread::sleep_for(turn);
}

CrowdedCores::CrowdedCores(const std::vector<LaneSpec>& lanes, std::filesystem::path root)
    : root_(std::move(root)), settled_(lanes.size()) {
  for (const LaneSpec& lane : lanes) {
    usual_.push_back(lane.cores.empty() ? allowed_cores() : lane.cores);
    threads_.push_back(lane.threads);
    cores_.insert(cores_.end(), usual_.back().begin(), usual_.back().end());
    all_threads_ += lane.threads;
  }
  std::ranges::sort(cores_);
  auto repeated = std::ranges::unique(cores_);
  cores_.erase(repeated.begin(), repeated.end());
  now_ = usual_;
  watcher_ = start_thread({"load", {}}, [this] { watch(); });
}

CrowdedCores::~CrowdedCores() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
}

void CrowdedCores::watch() {
  OtherLoad others(cores_, root_);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval, [this] { return stop_; })) {
    lock.unlock();
    decide(others.read());
    lock.lock();
  }
}

// Another run on these cores takes other ones.
std::vector<int> CrowdedCores::take(int count) {
  std::vector<int> order = cores_;
  for (size_t turn = 0; turn < cores_.size(); ++turn) {
    std::vector<int> first(order.begin(), order.begin() + count);
    std::ranges::sort(first);
    if (locks_.acquire(first, "spire crowded").empty()) return first;
    std::ranges::rotate(order, order.begin() + 1);
  }
  return {cores_.begin(), cores_.begin() + count};
}

void CrowdedCores::decide(std::optional<double> others) {
  if (!others) return;
  // Others on the brink of the limits, and of a thread more or less on many cores, change nothing.
  double used = *others + (left_ > 0 ? 0.25 : 0.0);
  int left = cores_left(used, all_threads_, static_cast<int>(cores_.size()));
  if (left == left_ || (left > 0 && std::abs(left - left_) < left_ / 8)) return;
  left_ = left;
  locks_.release();
  turns_.reset();
  std::vector<std::vector<int>> next = usual_;
  if (left > 0) {
    std::vector<int> shared = take(left);
    next = divided_among(shared, static_cast<int>(usual_.size()));
    turns_ = std::make_unique<Turns>(std::move(shared));
  }
  std::lock_guard lock(mutex_);
  now_ = std::move(next);
  decisions_.fetch_add(1, std::memory_order_release);
}

void CrowdedCores::settle(int lane) {
  auto own = static_cast<size_t>(lane);
  if (settled_[own] == decisions_.load(std::memory_order_acquire)) return;
  std::lock_guard lock(mutex_);
  settled_[own] = decisions_.load(std::memory_order_relaxed);
  const std::vector<int>& cores = now_[own];
  std::atomic<int> order{0};  // shown to ThreadSanitizer, as in kernels/cpu/parallel.h
  order.store(0, std::memory_order_release);
#pragma omp parallel num_threads(threads_[own])
  {
    order.load(std::memory_order_acquire);
    keep_to_cores(cores);
    order.fetch_add(1, std::memory_order_release);
  }
  order.load(std::memory_order_acquire);
}

}  // namespace spire::inline device
