#include "tests/scripted_nvml/scripted_gpus.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <sys/stat.h>

namespace spire::nvml {

ScriptedGpus& ScriptedGpus::the() {
  static ScriptedGpus machine;
  return machine;
}

ScriptedGpus::ScriptedGpus() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    int index = static_cast<int>(i);
    slots_[i] = {.gpu = index / (max_mig + 1), .mig = index % (max_mig + 1) - 1};
  }
}

void ScriptedGpus::stop() {
  if (--users_ > 0) return;
  registered_.clear();
  stamp_.clear();  // the next start begins with the first readings
}

void ScriptedGpus::reload() {
  const char* file = std::getenv("SPIRE_SCRIPTED_NVML");
  struct stat status {};
  if (!file || ::stat(file, &status) != 0)
    throw std::runtime_error("SPIRE_SCRIPTED_NVML must name the machine's JSON file");
  std::string stamp = std::string(file) + ' ' + std::to_string(status.st_ino) + ' ' +
                      std::to_string(status.st_size) + ' ' + std::to_string(status.st_mtim.tv_sec) +
                      ' ' + std::to_string(status.st_mtim.tv_nsec);
  if (stamp == stamp_) return;
  std::ifstream in(file);
  script_ = json::parse(in);
  stamp_ = stamp;
  readings_.clear();
  xids_.clear();
  if (count() > max_gpus) throw std::runtime_error("too many GPUs");
  for (int gpu = 0; gpu < static_cast<int>(count()); ++gpu) {
    for (unsigned xid : this->gpu({.gpu = gpu}).value("xids", std::vector<unsigned>{}))
      xids_.emplace_back(gpu, xid);
  }
}

std::optional<nvmlReturn_t> ScriptedGpus::scripted_result(const std::string& function,
                                                          const GpuSlot* slot) const {
  const json& of = slot ? device(*slot) : script_;
  if (auto returns = of.find("returns"); returns != of.end() && returns->contains(function))
    return returns->at(function).get<nvmlReturn_t>();
  if (slot && gpu(*slot).value("lost", false)) return NVML_ERROR_GPU_IS_LOST;
  return std::nullopt;
}

const json& ScriptedGpus::device(const GpuSlot& slot) const {
  return slot.mig < 0 ? gpu(slot) : gpu(slot).at("mig").at(static_cast<size_t>(slot.mig));
}

json ScriptedGpus::next(const GpuSlot& slot, const std::string& key) {
  const json& of = device(slot);
  auto found = of.find(key);
  if (found == of.end()) return nullptr;
  if (!found->is_array()) return *found;
  size_t& reading = readings_[{slot.gpu, slot.mig}][key];
  json value = found->at(std::min(reading, found->size() - 1));
  ++reading;
  return value;
}

nvmlDevice_t ScriptedGpus::handle(int gpu, int mig) {
  size_t index = static_cast<size_t>(gpu) * (max_mig + 1) + static_cast<size_t>(mig + 1);
  return reinterpret_cast<nvmlDevice_t>(&slots_.at(index));
}

const GpuSlot* ScriptedGpus::slot(nvmlDevice_t handle) const {
  const auto* slot = reinterpret_cast<const GpuSlot*>(handle);
  bool mine = slot >= slots_.data() && slot < slots_.data() + slots_.size();
  return mine && slot->gpu < static_cast<int>(count()) ? slot : nullptr;
}

std::optional<std::pair<int, unsigned>> ScriptedGpus::next_xid() {
  for (auto xid = xids_.begin(); xid != xids_.end(); ++xid) {
    if (!registered_.contains(xid->first)) continue;
    auto found = *xid;
    xids_.erase(xid);
    return found;
  }
  return std::nullopt;
}

}  // namespace spire::nvml
