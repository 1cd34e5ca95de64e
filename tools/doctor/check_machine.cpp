#include "tools/doctor/check_machine.h"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "engine/device/load/other_load.h"
#include "engine/device/topology.h"
#include "engine/run/checkpoint_need.h"
#include "engine/run/machine/environment.h"
#include "engine/run/machine/memory_state.h"
#include "tools/doctor/cores.h"
#include "tools/doctor/gpu_health.h"
#include "tools/doctor/gpu_software.h"
#include "tools/doctor/peer_copies.h"
#include "tools/doctor/processor.h"
#include "tools/doctor/storage.h"

namespace spire {

namespace {

// All checks, in the order of the report.
class Examination {
 public:
  explicit Examination(const MachineCheck& check) : check_(check) {}

  Findings run() {
    topic("gpu_software", "GPUs, driver and libraries", [&] {
      software_ = read_gpu_software();
      return check_gpu_software(software_);
    });
    topic("gpu_health", "the state of all GPUs", [&] { return examine_gpus(); });
    if (check_.try_copies)
      topic("peer_copies", software_.cuda.devices.size() > 1 ? "copies between GPUs" : "",
            [&] { return examine_peers(); });
    topic("environment", "", [&] { return examine_environment(); });
    int gpus = static_cast<int>(software_.cuda.devices.size());
    topic("limits", "", [&] { return check_process_limits(read_process_limits(), gpus); });
    topic("cores", "", [&] { return examine_cores(); });
    topic("memory", "", [&] { return check_memory_state(read_memory_state()); });
    topic("processor", "",
          [&] { return check_processor(read_processor(), software_.cuda.devices); });
    topic("config", check_.plan ? "the plan of the config's run" : "",
          [&] { return examine_config(); });
    std::string output = check_.config.output;
    topic("disk_speed", "the disk of " + output,
          [&] { return check_disk(try_disk(output), checkpoints_); });
    topic("hdf5", "HDF5", [&] { return Findings{check_hdf5(try_data())}; });
    return std::move(findings_);
  }

 private:
  // progress: what is told before a check that takes time. A check that cannot be made is a
  // finding, so that the others go on.
  void topic(const char* name, const std::string& progress,
             const std::function<Findings()>& examine) {
    if (!progress.empty() && check_.on_topic) check_.on_topic(progress);
    try {
      append(findings_, examine());
    } catch (const std::exception& error) {
      findings_.push_back({name, FindingLevel::fail,
                           std::string("cannot be checked: ") + error.what(),
                           "solve that, then type trainer doctor again"});
    }
  }

  Findings examine_gpus() {
    GpusOfHost host = read_gpus(GpuMonitor());
    for (const GpuHealth& gpu : host.gpus)
      host_gpus_.push_back({fmt::format("GPU {}", gpu.gpu.number), gpu.gpu.pci_bus_id});
    return check_gpus(host);
  }

  Findings examine_peers() const {
    return check_peers(check_.try_copies(copies_between(software_.cuda.devices)),
                       check_.copy_seconds);
  }

  static Findings examine_environment() {
    Variables variables = gpu_variables(environ);
    const char* home = std::getenv("HOME");
    return check_environment(variables, nccl_files(variables, home ? home : ""));
  }

  // GPUs that runs may use; else all that the driver lists.
  Findings examine_cores() const {
    std::vector<GpuAddress> gpus;
    for (const CudaDeviceInfo& gpu : software_.cuda.devices)
      gpus.push_back({fmt::format("cuda:{}", gpu.index), gpu.pci_bus_id});
    Topology topology = discover_topology();
    Findings findings = check_cores(topology);
    OtherLoad others(topology.cores);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    findings.push_back(check_load(topology, others.read()));
    append(findings, check_numa(read_numa(gpus.empty() ? host_gpus_ : gpus), topology.cores));
    return findings;
  }

  Findings examine_config() {
    if (!check_.plan)
      return {{"config", FindingLevel::ok,
               "none given; trainer doctor --config FILE checks its run, too"}};
    PlanReport report = check_.plan();
    checkpoints_ = checkpoint_need(check_.config, report.start.parameters, report.start.frozen,
                                   report.start.total_steps);
    planned_ = true;
    std::string run = fmt::format("{} on {}, {}", report.start.model, report.start.dataset,
                                  report.start.precision);
    if (!report.shortage.empty())
      return {{"config", FindingLevel::fail, run + ": " + report.shortage,
               "trainer plan shows what takes the memory"}};
    Findings findings = {
        {"config", FindingLevel::ok, run + ": data and devices are good, memory suffices"}};
    for (const std::string& warning : report.warnings)
      findings.push_back({"config", FindingLevel::warn, warning, "see trainer --check"});
    return findings;
  }

  // The config's own file where it is HDF5 and has been found good.
  Hdf5Trial try_data() const {
    const RunConfig& config = check_.config;
    if (planned_ && config.data.name == "hdf5") return try_hdf5(config.data.path);
    return try_made_hdf5(config.output);
  }

  const MachineCheck& check_;
  GpuSoftware software_;
  std::vector<GpuAddress> host_gpus_;
  std::optional<CheckpointNeed> checkpoints_;
  bool planned_ = false;
  Findings findings_;
};

}  // namespace

Findings check_machine(const MachineCheck& check) {
  return Examination(check).run();
}

}  // namespace spire
