#include "engine/train/monitor/device_monitor.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "engine/base/thread.h"
#include "engine/device/load/host_use.h"
#include "engine/device/nvml/gpu_monitor.h"
#include "engine/device/topology.h"

namespace spire {
namespace {

class CpuReader final : public DeviceReader {
 public:
  CpuReader(std::vector<WatchedDevice> devices, std::filesystem::path root,
            std::function<double()> now)
      : devices_(std::move(devices)),
        root_(std::move(root)),
        now_(std::move(now)),
        others_(cores_of(devices_), root_),
        before_(devices_.size()) {}

  void read(std::span<DeviceNumbers> numbers, std::vector<std::string>&) override {
    std::map<std::string, double> seconds = thread_seconds(root_);
    double now = now_();
    std::optional<uint64_t> resident = resident_bytes(root_);
    std::optional<double> others = others_.read();
    auto limit = static_cast<double>(host_space(root_).total);
    for (size_t d = 0; d < devices_.size(); ++d) {
      numbers[d] = unknown_numbers;
      auto set = [&](DeviceNumber which, double value) { number_of(which, numbers[d]) = value; };
      if (resident) set(DeviceNumber::memory_used, static_cast<double>(*resident));
      if (limit > 0) set(DeviceNumber::memory_total, limit);
      if (others) set(DeviceNumber::others_cores, *others);
      read_busy(d, seconds, now, numbers[d]);
      read_cores(d, numbers[d]);
    }
  }

 private:
  struct Before {
    std::optional<double> time = {};
    double seconds = 0;
    std::optional<uint64_t> heat_events = {};
  };

  // CPU time since the reading before, over the time that the device's threads could have had.
  void read_busy(size_t d, const std::map<std::string, double>& seconds, double now,
                 DeviceNumbers& numbers) {
    double used = 0;
    for (const std::string& name : devices_[d].thread_names)
      if (auto found = seconds.find(name); found != seconds.end()) used += found->second;
    Before& before = before_[d];
    double most = (now - before.time.value_or(now)) * devices_[d].threads;
    // Threads that have ended since took their time with them.
    if (most > 0)
      number_of(DeviceNumber::busy, numbers) = std::clamp((used - before.seconds) / most, 0.0, 1.0);
    before.time = now;
    before.seconds = used;
  }

  void read_cores(size_t d, DeviceNumbers& numbers) {
    CoreState state = core_state(devices_[d].cores, root_);
    if (state.mhz) number_of(DeviceNumber::clock_mhz, numbers) = *state.mhz;
    if (state.max_mhz) number_of(DeviceNumber::max_clock_mhz, numbers) = *state.max_mhz;
    auto before = std::exchange(before_[d].heat_events, state.heat_events);
    if (!before || !state.heat_events) return;
    constexpr std::array heat = {ThrottleReason::heat};
    bool hot = *state.heat_events > *before;
    number_of(DeviceNumber::throttle_reasons, numbers) = hot ? throttle_number(heat) : 0;
  }

  const std::vector<WatchedDevice> devices_;
  const std::filesystem::path root_;
  const std::function<double()> now_;
  OtherLoad others_;            // on the cores of all devices together
  std::vector<Before> before_;  // of each device
};

class GpuReader final : public DeviceReader {
 public:
  GpuReader(std::vector<WatchedDevice> devices, std::string file)
      : devices_(std::move(devices)), file_(std::move(file)), failed_(devices_.size()) {}

  void read(std::span<DeviceNumbers> numbers, std::vector<std::string>& problems) override {
    if (!monitor_) monitor_.emplace(file_);
    for (size_t d = 0; d < devices_.size(); ++d) {
      auto same = std::ranges::find(devices_, devices_[d].id, &WatchedDevice::id);
      if (auto first = static_cast<size_t>(same - devices_.begin()); first < d) {
        numbers[d] = numbers[first];  // a logical device on the same GPU
        continue;
      }
      const HostGpu* gpu = monitor_->find(devices_[d].pci_bus_id);
      if (!gpu) continue;  // no NVML, or it does not list the GPU: nothing is known
      GpuState state = monitor_->state(gpu->number);
      numbers[d] = numbers_of(state, mig_index(*gpu, devices_[d].uuid));
      note(d, state, problems);
    }
  }

 private:
  // Tells of a failure when it begins.
  void note(size_t device, const GpuState& state, std::vector<std::string>& problems) {
    bool fails = state.condition != GpuCondition::works;
    if (fails && !failed_[device])
      problems.push_back(
          fmt::format("{} cannot be watched: {}", to_string(devices_[device].id), state.problem));
    failed_[device] = fails;
  }

  const std::vector<WatchedDevice> devices_;
  const std::string file_;
  std::optional<GpuMonitor> monitor_;
  std::vector<bool> failed_;
};

}  // namespace

std::unique_ptr<DeviceReader> make_cpu_reader(std::vector<WatchedDevice> devices,
                                              std::filesystem::path root,
                                              std::function<double()> now) {
  return std::make_unique<CpuReader>(std::move(devices), std::move(root), std::move(now));
}

std::unique_ptr<DeviceReader> make_gpu_reader(std::vector<WatchedDevice> devices,
                                              std::string file) {
  return std::make_unique<GpuReader>(std::move(devices), std::move(file));
}

std::vector<int> cores_of(std::span<const WatchedDevice> devices) {
  std::vector<int> cores;
  for (const WatchedDevice& device : devices)
    cores.insert(cores.end(), device.cores.begin(), device.cores.end());
  return each_once(std::move(cores));
}

std::vector<WatchedDevice> watched_devices(const Placement& placement,
                                           const RankHardware& hardware) {
  std::vector<WatchedDevice> watched;
  Share own = placement.devices_of(placement.rank);
  for (int d = own.begin; d < own.end; ++d) {
    const PlacedDevice& device = placement.devices[static_cast<size_t>(d)];
    WatchedDevice& entry = watched.emplace_back(WatchedDevice{.id = device.id});
    for (const CudaDeviceInfo& gpu : hardware.gpus) {
      if (device.id != DeviceId{DeviceKind::cuda, gpu.index}) continue;
      entry.pci_bus_id = gpu.pci_bus_id;
      entry.uuid = gpu.uuid;
    }
    if (device.id.kind == DeviceKind::cuda) continue;
    for (int l = device.first_lane; l < device.first_lane + device.lanes; ++l) {
      const LaneSpec& lane = placement.lanes[static_cast<size_t>(l)];
      entry.thread_names.push_back(system_thread_name(fmt::format("lane {}", l)));
      entry.threads += lane.threads;
      entry.cores.insert(entry.cores.end(), lane.cores.begin(), lane.cores.end());
    }
    entry.cores = each_once(std::move(entry.cores));
  }
  return watched;
}

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
