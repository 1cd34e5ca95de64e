#include "engine/device/load/crowded_cores.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <sys/syscall.h>
#include <utility>

#include <omp.h>
#include <unistd.h>

#include <spire/error.h>

#include "engine/base/crowded.h"
#include "engine/base/steady_time.h"
#include "engine/base/thread.h"
#include "engine/device/lane_team.h"
#include "engine/device/load/host_use.h"
#include "engine/device/topology.h"

namespace spire {
namespace {

constexpr auto interval = std::chrono::milliseconds(200);  // the kernel counts in steps of 10 ms
constexpr auto turn = std::chrono::microseconds(500);

// As libgomp counts them when the process begins.
int cores_of_process() {
  return static_cast<int>(allowed_cores(getpid()).size());
}

// The least time between two decisions. Runs in containers do not see each other's locks: a pace of
// their own keeps them from moving to the same core again and again.
std::chrono::milliseconds pause_of_process() {
  return std::chrono::milliseconds(2000 + (steady_ns() / 1000 + 7919 * int64_t{getpid()}) % 1000);
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

constexpr size_t window = 3;     // readings that a load is the mean of
constexpr int quiet_enough = 3;  // decisions

// Cores' worth by which a load must differ before teams that share cores move again.
constexpr double clearly = 0.25;

}  // namespace

// A team cannot have a part of a core. So where less than half a core is missing, each thread keeps
// its own.
int cores_left(double others, int threads, int cores) {
  if (!crowded(others, threads, cores)) return 0;
  int left = std::max(1, static_cast<int>(std::lround(cores - others)));
  return left < std::min(threads, cores) ? left : 0;
}

CrowdDecisions::CrowdDecisions(int threads, std::vector<int> cores, Time::duration pause)
    : threads_(threads), cores_(std::move(cores)), pause_(pause), mean_(cores_.size()) {}

double CrowdDecisions::newest() const {
  double sum = 0;
  for (size_t r = readings_.size() - window; r < readings_.size(); ++r)
    for (double core : readings_[r]) sum += core;
  return sum / window;
}

void CrowdDecisions::take_mean() {
  std::ranges::fill(mean_, 0.0);
  for (const std::vector<double>& reading : readings_)
    for (size_t c = 0; c < mean_.size(); ++c)
      mean_[c] += reading[c] / static_cast<double>(readings_.size());
  readings_.clear();
  most_ = 0;
}

std::optional<int> CrowdDecisions::add(std::span<const double> others, int shared, Time now) {
  readings_.emplace_back(others.begin(), others.end());
  if (shared == 0 && readings_.size() > window) readings_.erase(readings_.begin());
  if (readings_.size() < window) return std::nullopt;
  most_ = shared > 0 ? std::max(most_, newest()) : newest();
  if (now < next_) return std::nullopt;

  auto cores = static_cast<int>(cores_.size());
  int left = cores_left(most_ + (shared > 0 ? clearly : 0.0), threads_, cores);
  if (shared == 0 && left == 0) return std::nullopt;
  // Of many cores one more or less is not worth a move.
  if (left > 0 && std::abs(left - shared) < shared / 8) left = shared;
  bool more = shared > 0 && (left == 0 || left > shared);
  quiet_ = more ? quiet_ + 1 : 0;
  take_mean();
  next_ = now + pause_;
  if (more && quiet_ < quiet_enough) return shared;
  quiet_ = 0;
  return left;
}

std::vector<int> CrowdDecisions::emptiest(const std::vector<int>& held) const {
  std::map<int, double> load;
  for (size_t c = 0; c < cores_.size(); ++c) load[cores_[c]] = mean_[c];
  for (int core : held) load[core] -= clearly;
  std::vector<int> order = cores_;
  std::ranges::stable_sort(order, {}, [&](int core) { return load[core]; });
  return order;
}

std::vector<std::vector<int>> divided_among(const std::vector<int>& cores, int lanes) {
  std::vector<std::vector<int>> parts;
  for (int lane = 0; lane < lanes; ++lane) parts.push_back(cores_of_device(cores, lane, lanes));
  return parts;
}

// libgomp does not count the first thread of a team, so there is one more than the process has
// cores. Lanes' teams have fewer threads at times, so these alone are as many as it takes.
bool CoreTurns::begin(const std::vector<int>& cores) {
  std::vector<std::vector<int>> places;
  for (int core : cores) places.push_back({core});
  {
    std::lock_guard lock(mutex_);
    places_.swap(places);
  }
  changes_.fetch_add(1);
  changes_.notify_all();
  if (holder_.joinable()) return true;
  int count = std::max(cores_of_process() + 1, static_cast<int>(most_));
  try {
    if (count > proven_) prove_threads(count, "turns");
    proven_ = std::max(proven_, count);
    end_ = false;
    started_ = 0;
    holder_ = start_thread({"turns", {}}, [this, count] { run(count); });
  } catch (const Error&) {  // limits of the system
    return false;
  }
  started_.wait(0);
  if (started_ == count) return true;
  end();  // OMP_THREAD_LIMIT allows fewer
  return false;
}

void CoreTurns::end() {
  if (!holder_.joinable()) return;
  end_ = true;
  changes_.fetch_add(1);
  changes_.notify_all();
  holder_.join();
}

void CoreTurns::run(int count) {
  omp_set_dynamic(0);
  std::atomic<int> order{0};  // shown to ThreadSanitizer, as in kernels/cpu/parallel.h
#pragma omp parallel num_threads(count)
  {
#pragma omp master
    {
      started_ = omp_get_num_threads();
      started_.notify_all();
    }
    hold(static_cast<size_t>(omp_get_thread_num()));
    order.fetch_add(1, std::memory_order_release);
  }
  order.load(std::memory_order_acquire);
}

// end_ is set before changes_ grows, so whoever has seen the newest change sees it.
void CoreTurns::hold(size_t number) {
  ask_for_short_slices();
  bool wakes = false;
  for (uint32_t seen = 0;;) {
    uint32_t change = changes_.load();
    if (end_) return;
    if (change != seen) {
      std::lock_guard lock(mutex_);
      seen = change;
      wakes = number < places_.size();
      if (wakes) keep_to_cores(places_[number]);
    }
    if (wakes) {
      std::this_thread::sleep_for(turn);
    } else {
      changes_.wait(seen);
    }
  }
}

CrowdedCores::CrowdedCores(const std::vector<LaneSpec>& lanes, std::filesystem::path root)
    : root_(std::move(root)), settled_(lanes.size()) {
  for (const LaneSpec& lane : lanes) {
    usual_.push_back(lane.cores.empty() ? allowed_cores() : lane.cores);
    threads_.push_back(lane.threads);
    cores_.insert(cores_.end(), usual_.back().begin(), usual_.back().end());
  }
  cores_ = each_once(std::move(cores_));
  decisions_.emplace(std::accumulate(threads_.begin(), threads_.end(), 0), cores_,
                     pause_of_process());
  turns_.emplace(cores_.size());
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
  std::optional<OtherLoad> others;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval, [this] { return stop_; })) {
    lock.unlock();
    try {
      if (!others) others.emplace(cores_, root_);
      decide(others->read_each(), std::chrono::steady_clock::now());
    } catch (const std::exception&) {  // no memory is left: the next reading may find some
    }
    lock.lock();
  }
}

bool CrowdedCores::lock_core(int core) {
  auto [lock, added] = locks_.try_emplace(core);
  if (!added || lock->second.acquire({&core, 1}, "spire crowded" + root_.string()).empty())
    return true;
  locks_.erase(lock);
  return false;
}

// Returns the emptiest cores, ascending; those that another run shares only where no others are
// left.
std::vector<int> CrowdedCores::choose(int count) {
  std::vector<int> order = decisions_->emptiest(shared_), chosen;
  auto lacks = [&](int core) {
    return std::ssize(chosen) < count && std::ranges::find(chosen, core) == chosen.end();
  };
  for (int core : order)
    if (lacks(core) && lock_core(core)) chosen.push_back(core);
  for (int core : order)
    if (lacks(core)) chosen.push_back(core);
  std::ranges::sort(chosen);
  return chosen;
}

void CrowdedCores::decide(const std::optional<std::vector<double>>& others,
                          CrowdDecisions::Time now) {
  if (!others || refused_) return;
  std::optional<int> count = decisions_->add(*others, static_cast<int>(shared_.size()), now);
  if (!count) return;
  std::vector<int> chosen = choose(*count);
  if (chosen != shared_) {
    auto next = chosen.empty() ? usual_ : divided_among(chosen, static_cast<int>(usual_.size()));
    refused_ = !chosen.empty() && !turns_->begin(chosen);
    if (refused_) return locks_.clear();
    move_lanes(std::move(next));
    if (chosen.empty()) turns_->end();
    shared_ = std::move(chosen);
  }
  std::erase_if(locks_, [this](const auto& lock) {
    return !std::ranges::binary_search(shared_, lock.first);
  });
}

void CrowdedCores::move_lanes(std::vector<std::vector<int>> next) {
  std::lock_guard lock(mutex_);
  now_.swap(next);
  moves_.fetch_add(1, std::memory_order_release);
}

void CrowdedCores::settle(int lane) {
  auto own = static_cast<size_t>(lane);
  if (settled_[own] == moves_.load(std::memory_order_acquire)) return;
  std::lock_guard lock(mutex_);
  settled_[own] = moves_.load(std::memory_order_relaxed);
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

}  // namespace spire
