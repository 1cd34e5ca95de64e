// trainer doctor: checks what of this machine helps, hinders or breaks runs.
#include <chrono>
#include <functional>

#include <unistd.h>

#include <spire/error.h>
#include <spire/plan_report.h>

#include "build_info.h"
#include "engine/base/message_words.h"
#include "engine/doctor/cores.h"
#include "engine/doctor/environment.h"
#include "engine/doctor/gpu_health.h"
#include "engine/doctor/gpu_software.h"
#include "engine/doctor/memory_state.h"
#include "engine/doctor/processor.h"
#include "engine/doctor/storage.h"
#include "engine/observe/formatting.h"
#include "engine/process/socket.h"
#include "engine/run/checkpoint_need.h"
#include "tools/commands.h"
#include "tools/config_source.h"
#include "tools/doctor/doctor_report.h"
#include "tools/doctor/peer_trial.h"
#include "tools/output/streams.h"

namespace spire::tool {

namespace {

// All checks, in the order of the report.
class Examination {
 public:
  Examination(const Arguments& arguments, const ResolvedConfig& resolved)
      : arguments_(arguments), resolved_(resolved) {}

  Findings run() {
    check("gpu_software", "GPUs, driver and libraries", [&] {
      software_ = read_gpu_software();
      return check_gpu_software(software_);
    });
    check("gpu_health", "the state of all GPUs", [&] { return examine_gpus(); });
    check("peer_copies", software_.cuda.devices.size() > 1 ? "copies between GPUs" : "",
          [&] { return examine_peers(); });
    check("environment", "", [&] { return examine_environment(); });
    int gpus = static_cast<int>(software_.cuda.devices.size());
    check("limits", "", [&] { return check_process_limits(read_process_limits(), gpus); });
    check("cores", "", [&] { return examine_cores(); });
    check("memory", "", [&] { return check_memory_state(read_memory_state()); });
    check("processor", "",
          [&] { return check_processor(read_processor(), software_.cuda.devices); });
    check("config", configured() ? "the plan of the config's run" : "",
          [&] { return examine_config(); });
    std::string output = resolved_.config.output;
    check("disk_speed", "the disk of " + output,
          [&] { return check_disk(try_disk(output), checkpoints_); });
    check("hdf5", "HDF5", [&] { return Findings{check_hdf5(try_data())}; });
    return std::move(findings_);
  }

 private:
  bool configured() const { return !arguments_.configs.empty(); }

  // progress: what is said before a check that takes time. A check that cannot be made is a
  // finding, so that the others go on.
  void check(const char* topic, const std::string& progress,
             const std::function<Findings()>& examine) {
    if (!progress.empty() && !arguments_.quiet) print_log("checking {}\n", progress);
    try {
      append(findings_, examine());
    } catch (const std::exception& error) {
      findings_.push_back({topic, Level::fail, std::string("cannot be checked: ") + error.what(),
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
    double limit = arguments_.doctor.copy_seconds;
    return check_peers(
        try_in_children(copies_between(software_.cuda.devices), {.copy_seconds = limit}), limit);
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
    append(findings, check_numa(read_numa(gpus.empty() ? host_gpus_ : gpus), topology.cores));
    return findings;
  }

  Findings examine_config() {
    if (!configured())
      return {
          {"config", Level::ok, "none given; trainer doctor --config FILE checks its run, too"}};
    PlanReport report = naming_places(resolved_, [&] { return plan(resolved_.config); });
    checkpoints_ = checkpoint_need(resolved_.config, report.start.parameters, report.start.frozen,
                                   report.start.total_steps);
    planned_ = true;
    std::string run = fmt::format("{} on {}, {}", report.start.model, report.start.dataset,
                                  report.start.precision);
    if (!report.shortage.empty())
      return {{"config", Level::fail, run + ": " + report.shortage,
               "trainer plan shows what takes the memory"}};
    Findings findings = {
        {"config", Level::ok, run + ": data and devices are good, memory suffices"}};
    for (const std::string& warning : report.warnings)
      findings.push_back({"config", Level::warn, warning, "see trainer --check"});
    return findings;
  }

  // The config's own file where it is HDF5 and has been found good.
  Hdf5Trial try_data() const {
    const RunConfig& config = resolved_.config;
    if (planned_ && config.data.name == "hdf5") return try_hdf5(config.data.path);
    return try_made_hdf5(config.output);
  }

  const Arguments& arguments_;
  const ResolvedConfig& resolved_;
  GpuSoftware software_;
  std::vector<GpuAddress> host_gpus_;
  std::optional<CheckpointNeed> checkpoints_;
  bool planned_ = false;
  Findings findings_;
};

}  // namespace

int run_doctor(const Arguments& arguments) {
  auto resolved = read_config(arguments);
  if (!resolved) return 0;
  Findings findings = Examination(arguments, *resolved).run();
  if (arguments.doctor.json) {
    std::string now = utc_text(std::chrono::system_clock::now());
    result_text(findings_json(findings, {std::string(build_info::version), host_name(), now}));
  } else {
    result_text(findings_text(findings));
  }
  if (worst(findings) < Level::fail) return 0;
  std::vector<std::string> failed;
  for (const Finding& finding : findings)
    if (finding.level == Level::fail && (failed.empty() || failed.back() != finding.topic))
      failed.push_back(finding.topic);
  fail(Category::device, "not all is well: {}; the report has remedies", quoted_list(failed));
}

int run_doctor_peers(const Arguments& arguments) {
  return try_named_copies(arguments.doctor.copies);
}

}  // namespace spire::tool
