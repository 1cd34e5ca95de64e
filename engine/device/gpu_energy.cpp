#include "engine/device/gpu_energy.h"

#include <set>

#include <dlfcn.h>

namespace spire::inline device {

// The functions of nvml.h that are used here. All return 0 on success.
class GpuEnergy::Nvml {
 public:
  explicit Nvml(const std::string& file) : library_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    find(init_, "nvmlInit_v2");
    find(shut_down_, "nvmlShutdown");
    find(by_bus_id_, "nvmlDeviceGetHandleByPciBusId_v2");
    find(energy_, "nvmlDeviceGetTotalEnergyConsumption");
    open_ = init_ && shut_down_ && by_bus_id_ && energy_ && init_() == 0;
  }
  ~Nvml() {
    if (open_) shut_down_();
    if (library_) ::dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool open() const { return open_; }
  void* device(const std::string& pci_bus_id) const {  // null: there is none
    void* handle = nullptr;
    return by_bus_id_(pci_bus_id.c_str(), &handle) == 0 ? handle : nullptr;
  }
  std::optional<double> joules(void* handle) const {
    unsigned long long millijoules = 0;
    if (energy_(handle, &millijoules) != 0) return std::nullopt;
    return 1e-3 * static_cast<double>(millijoules);
  }

 private:
  template <typename Function>
  void find(Function*& function, const char* name) const {
    if (library_) function = reinterpret_cast<Function*>(::dlsym(library_, name));
  }

  void* library_;
  int (*init_)() = nullptr;
  int (*shut_down_)() = nullptr;
  int (*by_bus_id_)(const char* id, void** handle) = nullptr;
  int (*energy_)(void* handle, unsigned long long* millijoules) = nullptr;
  bool open_ = false;
};

GpuEnergy::GpuEnergy(const std::vector<CudaDeviceInfo>& gpus, const std::string& file) {
  if (gpus.empty()) return;
  nvml_ = std::make_unique<Nvml>(file);
  if (!nvml_->open()) return;
  std::set<std::string> known;
  for (const CudaDeviceInfo& gpu : gpus) {
    if (known.insert(gpu.pci_bus_id).second) handles_.push_back(nvml_->device(gpu.pci_bus_id));
  }
  for (void* handle : handles_) {
    if (handle && nvml_->joules(handle)) continue;
    handles_.clear();
    return;
  }
}

GpuEnergy::~GpuEnergy() {}

int64_t GpuEnergy::count() const {
  return static_cast<int64_t>(handles_.size());
}

std::optional<double> GpuEnergy::joules() const {
  if (handles_.empty()) return std::nullopt;
  double sum = 0;
  for (void* handle : handles_) {
    auto joules = nvml_->joules(handle);
    if (!joules) return std::nullopt;
    sum += *joules;
  }
  return sum;
}

}  // namespace spire::inline device
