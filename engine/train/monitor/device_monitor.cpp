#include "engine/train/monitor/device_monitor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "engine/base/thread.h"

namespace spire {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct DeviceMonitor::State {
  void run();
  bool make_reading();
  bool is_old(Clock::time_point now) const { return Seconds(now - read_at).count() > longest_age; }

  std::unique_ptr<DeviceReader> reader;
  double every_seconds = 1, longest_age = 10, patience = 5;
  std::vector<DeviceNumbers> reading;  // of the thread alone

  std::mutex newest_mutex;
  std::vector<DeviceNumbers> newest;  // guarded by newest_mutex, as the next
  Clock::time_point read_at = Clock::now();
  std::vector<std::string> problems;
  bool told_old = false;  // that no reading comes any more
  std::atomic<int64_t> readings{0};

  std::mutex stop_mutex;
  std::condition_variable changed;
  bool stop = false, ended = false;  // guarded by stop_mutex
};

DeviceMonitor::DeviceMonitor(std::unique_ptr<DeviceReader> reader, size_t devices,
                             const MonitorOptions& options)
    : state_(std::make_shared<State>()) {
  state_->reader = std::move(reader);
  state_->every_seconds = options.every_seconds;
  state_->longest_age = std::max(options.longest_age, 5 * options.every_seconds);
  state_->patience = options.patience;
  state_->reading.assign(devices, unknown_numbers);
  state_->newest.assign(devices, unknown_numbers);
  thread_ = start_thread({"monitor", options.cores}, [state = state_] { state->run(); });
}

DeviceMonitor::~DeviceMonitor() {
  std::unique_lock lock(state_->stop_mutex);
  state_->stop = true;
  state_->changed.notify_all();
  bool ended =
      state_->changed.wait_for(lock, Seconds(state_->patience), [this] { return state_->ended; });
  lock.unlock();
  if (!ended) thread_.detach();
}

void DeviceMonitor::State::run() {
  std::unique_lock lock(stop_mutex);
  bool works = true;
  do {
    lock.unlock();
    works = make_reading();
    lock.lock();
  } while (works && !changed.wait_for(lock, Seconds(every_seconds), [this] { return stop; }));
  ended = true;
  changed.notify_all();
}

// Returns false if there will be no more readings: no failure of one may end the run.
bool DeviceMonitor::State::make_reading() {
  std::vector<std::string> found;
  bool works = true;
  try {
    reader->read(reading, found);
  } catch (const std::exception& error) {
    works = false;
    std::ranges::fill(reading, unknown_numbers);
    found.push_back(fmt::format("the devices are no longer watched: {}", error.what()));
  }
  {
    std::lock_guard lock(newest_mutex);
    std::ranges::copy(reading, newest.begin());
    read_at = Clock::now();
    std::ranges::move(found, std::back_inserter(problems));
    told_old = !works;
  }
  ++readings;
  readings.notify_all();
  return works;
}

void DeviceMonitor::copy_to(std::span<double> numbers) const {
  std::unique_lock lock(state_->newest_mutex, std::try_to_lock);
  if (!lock || state_->readings == 0) return;
  bool old = state_->is_old(Clock::now());
  for (size_t d = 0; d < state_->newest.size(); ++d) {
    const DeviceNumbers& read = old ? unknown_numbers : state_->newest[d];
    std::copy(read.begin() + step_numbers, read.end(),
              numbers.begin() + static_cast<std::ptrdiff_t>(d * device_numbers + step_numbers));
  }
}

std::vector<std::string> DeviceMonitor::take_problems() {
  std::unique_lock lock(state_->newest_mutex, std::try_to_lock);
  if (!lock) return {};
  if (!state_->told_old && state_->is_old(Clock::now())) {
    state_->told_old = true;
    state_->problems.emplace_back(
        "the devices have not answered for a while, so their use is not known: the driver, or a "
        "GPU, hangs; training goes on");
  }
  return std::exchange(state_->problems, {});
}

void DeviceMonitor::await_readings(int64_t count) const {
  const std::atomic<int64_t>& readings = state_->readings;
  for (int64_t now = readings; now < count; now = readings) readings.wait(now);
}

std::unique_ptr<DeviceMonitor> watch_devices(const Placement& placement,
                                             const RankHardware& hardware, double every_seconds) {
  std::vector<WatchedDevice> devices = watched_devices(placement, hardware);
  size_t count = devices.size();
  bool gpus = devices.front().id.kind == DeviceKind::cuda;
  auto reader =
      gpus ? make_gpu_reader(std::move(devices), "") : make_cpu_reader(std::move(devices), "/");
  return std::make_unique<DeviceMonitor>(
      std::move(reader), count,
      MonitorOptions{.every_seconds = every_seconds, .cores = placement.helper_cores});
}

}  // namespace spire
