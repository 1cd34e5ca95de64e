#include "engine/train/monitor/device_monitor.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "engine/base/thread.h"

namespace spire::inline training {

DeviceMonitor::DeviceMonitor(std::unique_ptr<DeviceReader> reader, size_t devices,
                             const MonitorOptions& options)
    : reader_(std::move(reader)),
      every_seconds_(options.every_seconds),
      reading_(devices, unknown_numbers),
      newest_(devices, unknown_numbers) {
  thread_ = start_thread({"monitor", options.cores}, [this] { run(); });
}

DeviceMonitor::~DeviceMonitor() {
  {
    std::lock_guard lock(stop_mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
}

void DeviceMonitor::run() {
  std::unique_lock lock(stop_mutex_);
  bool works = true;
  do {
    lock.unlock();
    works = make_reading();
    lock.lock();
  } while (works && !stopped_.wait_for(lock, std::chrono::duration<double>(every_seconds_),
                                       [this] { return stop_; }));
}

// Returns false if there will be no more readings: no failure of one may end the run.
bool DeviceMonitor::make_reading() {
  std::vector<std::string> problems;
  bool works = true;
  try {
    reader_->read(reading_, problems);
  } catch (const std::exception& error) {
    works = false;
    std::ranges::fill(reading_, unknown_numbers);
    problems.push_back(fmt::format("the devices are no longer watched: {}", error.what()));
  }
  {
    std::lock_guard lock(newest_mutex_);
    std::ranges::copy(reading_, newest_.begin());
    if (!problems.empty()) {
      std::ranges::move(problems, std::back_inserter(problems_));
      has_problems_ = true;
    }
  }
  ++readings_;
  readings_.notify_all();
  return works;
}

void DeviceMonitor::copy_to(std::span<double> numbers) const {
  std::unique_lock lock(newest_mutex_, std::try_to_lock);
  if (!lock || readings_ == 0) return;
  constexpr auto arrival = static_cast<size_t>(DeviceNumber::arrival_ms);
  for (size_t d = 0; d < newest_.size(); ++d) {
    double* to = numbers.data() + d * device_numbers;
    double own = to[arrival];
    std::ranges::copy(newest_[d], to);
    to[arrival] = own;
  }
}

std::vector<std::string> DeviceMonitor::take_problems() {
  if (!has_problems_) return {};
  std::unique_lock lock(newest_mutex_, std::try_to_lock);
  if (!lock) return {};
  has_problems_ = false;
  return std::exchange(problems_, {});
}

void DeviceMonitor::await_readings(int64_t count) const {
  for (int64_t now = readings_; now < count; now = readings_) readings_.wait(now);
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

}  // namespace spire::inline training
