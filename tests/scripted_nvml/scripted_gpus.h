// The machine that the scripted NVML describes: a JSON file (README.md has its keys), which is read
// again whenever it is replaced.
#pragma once
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/device/nvml/nvml_library.h"

namespace spire::nvml {

using nlohmann::json;

struct GpuSlot {  // what a handle points to
  int gpu = 0;
  int mig = -1;  // -1: the GPU itself
};

class ScriptedGpus {
 public:
  static ScriptedGpus& the();
  std::mutex& mutex() { return mutex_; }  // held during each function of NVML

  bool started() const { return users_ > 0; }
  void start() { ++users_; }
  void stop();

  void reload();  // reads the file if it has changed; throws std::exception
  // Returns the result that the script gives to a function ("returns"), of a GPU if slot is given.
  std::optional<nvmlReturn_t> scripted_result(const std::string& function,
                                              const GpuSlot* slot) const;

  const json& script() const { return script_; }
  unsigned count() const { return static_cast<unsigned>(script_.at("gpus").size()); }
  const json& gpu(const GpuSlot& slot) const {
    return script_.at("gpus").at(static_cast<size_t>(slot.gpu));
  }
  const json& device(const GpuSlot& slot) const;  // the GPU or its MIG device
  // Returns the value of a key, of a list the next one; null if the script has none.
  json next(const GpuSlot& slot, const std::string& key);

  // Handles stay the same for the life of the process.
  nvmlDevice_t handle(int gpu, int mig = -1);
  const GpuSlot* slot(nvmlDevice_t handle) const;  // null: no such handle

  // XIDs of the script, each of which is delivered once, to GPUs that are registered.
  void register_events(int gpu) { registered_[gpu] = true; }
  std::optional<std::pair<int, unsigned>> next_xid();

 private:
  static constexpr int max_gpus = 64, max_mig = 8;
  ScriptedGpus();

  std::mutex mutex_;
  int users_ = 0;
  std::string stamp_;  // of the file that was read
  json script_ = json::object();
  std::map<std::pair<int, int>, std::map<std::string, size_t>> readings_;
  std::vector<std::pair<int, unsigned>> xids_;  // GPU, code
  std::map<int, bool> registered_;
  std::array<GpuSlot, size_t{max_gpus} * (max_mig + 1)> slots_;
};

}  // namespace spire::nvml
