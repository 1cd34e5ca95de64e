#include "engine/device/nvml/gpu_monitor.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <pwd.h>

#include "engine/device/nvml/gpu_reading.h"
#include "engine/device/nvml/nvml_library.h"

namespace spire {

using namespace nvml;

std::string_view to_string(ThrottleReason reason) {
  constexpr std::array<std::string_view, 11> words = {
      "idle",          "clock setting", "power cap",       "hardware slowdown",
      "sync boost",    "heat",          "heat (hardware)", "power brake",
      "display clock", "board limit",   "reliability"};
  return words.at(static_cast<size_t>(reason));
}

std::optional<size_t> mig_index(const HostGpu& gpu, std::string_view uuid) {
  auto mig = std::ranges::find(gpu.mig_devices, uuid, &MigDevice::uuid);
  if (mig == gpu.mig_devices.end()) return std::nullopt;
  return static_cast<size_t>(mig - gpu.mig_devices.begin());
}

std::optional<GpuMemory> memory_of(const GpuState& state, std::optional<size_t> mig) {
  if (!mig) return state.memory;
  return *mig < state.mig_memory.size() ? state.mig_memory[*mig] : std::nullopt;
}

// The library, the handles of its GPUs, and the errors (XIDs) that it reports as events.
class GpuMonitor::Nvml {
 public:
  explicit Nvml(const std::string& file) : library(file) {}
  ~Nvml() {
    if (events_) library.free_events(events_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  struct Handles {
    nvmlDevice_t gpu = nullptr;  // null: the GPU did not answer when the monitor was opened
    std::vector<nvmlDevice_t> mig_devices;
  };
  NvmlLibrary library;
  std::vector<Handles> handles;  // by number

  std::optional<int> last_xid(const std::vector<HostGpu>& gpus, int number) {
    std::lock_guard lock(mutex_);
    if (!listening_) listen();
    constexpr int at_most = 1000;  // a storm of errors must not hold the caller
    nvmlEventData_t event{};
    for (int i = 0; i < at_most && next(event); ++i) {
      if (event.eventType & nvmlEventTypeXidCriticalError)
        xids_[number_of(gpus, event.device)] = static_cast<int>(event.eventData);
    }
    auto found = xids_.find(number);
    return found == xids_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  void listen() {
    listening_ = true;
    if (library.create_events(&events_) != NVML_SUCCESS) events_ = nullptr;
    for (const Handles& handle : handles) {
      if (events_ && handle.gpu)
        library.register_events(handle.gpu, nvmlEventTypeXidCriticalError, events_);
    }
  }

  bool next(nvmlEventData_t& event) const {
    if (!events_) return false;
    event = {};
    if (library.wait.there()) return library.wait(events_, &event, 0) == NVML_SUCCESS;
    return library.old_wait(events_, &event, 0) == NVML_SUCCESS;
  }

  // -1: none of them. An event may carry a handle of its own.
  int number_of(const std::vector<HostGpu>& gpus, nvmlDevice_t device) const {
    auto same = std::ranges::find(handles, device, &Handles::gpu);
    if (same != handles.end()) return static_cast<int>(same - handles.begin());
    std::string uuid = GpuReading(library, -1).text(library.uuid, device);
    auto found = std::ranges::find(gpus, uuid, &HostGpu::uuid);
    return found == gpus.end() || uuid.empty() ? -1 : found->number;
  }

  std::mutex mutex_;  // guards what follows
  bool listening_ = false;
  nvmlEventSet_t events_ = nullptr;  // null: not offered
  std::map<int, int> xids_;          // the last of each GPU
};

namespace {

std::string nvml_file(const std::string& file) {
  if (!file.empty()) return file;
  const char* named = std::getenv("SPIRE_NVML");
  return named && *named ? named : GpuMonitor::default_file;
}

}  // namespace

GpuMonitor::GpuMonitor(const std::string& file, const std::filesystem::path& root)
    : nvml_(std::make_unique<Nvml>(nvml_file(file))), root_(root) {
  const NvmlLibrary& library = nvml_->library;
  why_none_ = library.why_not();
  unsigned count = 0;
  if (why_none_.empty()) {
    std::array<char, 128> version{};
    library.driver_version(version.data(), static_cast<unsigned>(version.size() - 1));
    driver_version_ = version.data();
    if (nvmlReturn_t error = library.count(&count); error != NVML_SUCCESS)
      why_none_ = fmt::format("the NVIDIA driver failed: {}: {}; check nvidia-smi",
                              library.count.name(), library.words(error));
    else if (count == 0)
      why_none_ = "the NVIDIA driver lists no GPU (check nvidia-smi)";
  }
  nvml_->handles.resize(count);
  for (unsigned i = 0; i < count; ++i) gpus_.push_back(describe(static_cast<int>(i)));
  if (!why_none_.empty()) nvml_.reset();
}

GpuMonitor::~GpuMonitor() = default;

HostGpu GpuMonitor::describe(int number) {
  const NvmlLibrary& library = nvml_->library;
  Nvml::Handles& handles = nvml_->handles[static_cast<size_t>(number)];
  GpuReading reading(library, number);
  auto handle = reading.value<nvmlDevice_t>(library.handle, static_cast<unsigned>(number));
  if (handle) {
    handles.gpu = *handle;
    return read_gpu(library, number, *handle, handles.mig_devices);
  }
  HostGpu gpu;
  gpu.number = number;
  gpu.condition = reading.condition();
  gpu.problem = reading.problem();
  if (gpu.condition == GpuCondition::works) {
    gpu.condition = GpuCondition::failing;
    gpu.problem = fmt::format("GPU {}: this user or container may not use it", number);
  }
  return gpu;
}

const HostGpu* GpuMonitor::find(std::string_view pci_bus_id) const {
  std::string id = normal_pci_bus_id(pci_bus_id);
  auto found = std::ranges::find(gpus_, id, &HostGpu::pci_bus_id);
  return found == gpus_.end() || id.empty() ? nullptr : &*found;
}

GpuState GpuMonitor::state(int number) const {
  GpuState state;
  if (number < 0 || number >= std::ssize(gpus_)) {
    state.condition = GpuCondition::failing;
    state.problem = fmt::format("there is no GPU {}", number);
    return state;
  }
  const HostGpu& gpu = gpus_[static_cast<size_t>(number)];
  const Nvml::Handles& handles = nvml_->handles[static_cast<size_t>(number)];
  if (handles.gpu) {
    state = read_state(nvml_->library, number, handles.gpu, handles.mig_devices);
  } else {
    state.condition = gpu.condition;
    state.problem = gpu.problem;
  }
  state.last_xid = nvml_->last_xid(gpus_, number);
  return state;
}

std::optional<double> GpuMonitor::joules(int number) const {
  if (number < 0 || number >= std::ssize(gpus_)) return std::nullopt;
  nvmlDevice_t handle = nvml_->handles[static_cast<size_t>(number)].gpu;
  unsigned long long millijoules = 0;
  if (!handle || nvml_->library.energy(handle, &millijoules) != NVML_SUCCESS) return std::nullopt;
  return 1e-3 * static_cast<double>(millijoules);
}

std::optional<std::vector<GpuProcess>> GpuMonitor::processes(int number) const {
  if (number < 0 || number >= std::ssize(gpus_)) return std::nullopt;
  nvmlDevice_t handle = nvml_->handles[static_cast<size_t>(number)].gpu;
  return handle ? read_processes(nvml_->library, handle, root_) : std::nullopt;
}

std::string user_name(uint32_t user_id) {
  passwd user{}, *found = nullptr;
  std::vector<char> memory(16384);
  if (getpwuid_r(user_id, &user, memory.data(), memory.size(), &found) == 0 && found)
    return user.pw_name;
  return std::to_string(user_id);
}

GpusOfHost read_gpus(const GpuMonitor& monitor) {
  GpusOfHost host{monitor.why_none(), {}};
  for (const HostGpu& gpu : monitor.gpus())
    host.gpus.push_back({gpu, monitor.state(gpu.number), monitor.processes(gpu.number)});
  return host;
}

GpuEnergy::GpuEnergy(const std::vector<CudaDeviceInfo>& gpus, const std::string& file) {
  if (gpus.empty()) return;
  monitor_ = std::make_unique<GpuMonitor>(file);
  std::set<int> numbers;
  for (const CudaDeviceInfo& gpu : gpus) {
    const HostGpu* found = monitor_->find(gpu.pci_bus_id);
    if (!found || (!numbers.contains(found->number) && !monitor_->joules(found->number))) return;
    numbers.insert(found->number);
  }
  numbers_.assign(numbers.begin(), numbers.end());
}

int64_t GpuEnergy::count() const {
  return std::ssize(numbers_);
}

std::optional<double> GpuEnergy::joules() const {
  if (numbers_.empty()) return std::nullopt;
  double sum = 0;
  for (int number : numbers_) {
    auto joules = monitor_->joules(number);
    if (!joules) return std::nullopt;
    sum += *joules;
  }
  return sum;
}

}  // namespace spire
