// trainer doctor: checks what of this machine helps, hinders or breaks runs.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <spire/plan.h>

#include "build_info.h"
#include "engine/base/fail.h"
#include "engine/base/system.h"
#include "engine/base/text.h"
#include "engine/device/load/host_use.h"
#include "engine/device/topology.h"
#include "engine/run/host_warnings.h"
#include "engine/run/machine/environment.h"
#include "engine/run/machine/limits.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_source.h"
#include "tools/doctor/checks.h"
#include "tools/output/streams.h"

namespace spire {

namespace {

// All checks, in the order of docs/doctor.md. What cannot be checked is a finding of level fail.
class Examination {
 public:
  // The disk of the config's output folder is tried; where a config was given, its run is checked,
  // too.
  Examination(const Arguments& arguments, const ResolvedConfig& resolved)
      : arguments_(arguments), resolved_(resolved), config_(resolved.config) {}

  Findings run() {
    topic("gpu_software", "GPUs, driver and libraries", [&] {
      software_ = read_gpu_software();
      return check_gpu_software(software_);
    });
    topic("gpu_health", "the state of all GPUs", [&] { return examine_gpus(); });
    topic("peer_copies", software_.cuda.devices.size() > 1 ? "copies between GPUs" : "",
          [&] { return examine_peers(); });
    topic("environment", "", [&] { return examine_environment(); });
    int gpus = static_cast<int>(software_.cuda.devices.size());
    topic("limits", "", [&] { return check_process_limits(read_process_limits(), gpus); });
    topic("cores", "", [&] { return examine_cores(); });
    topic("memory", "", [&] { return check_memory_state(read_memory_state()); });
    topic("processor", "",
          [&] { return check_processor(read_processor(), software_.cuda.devices); });
    topic("config", has_config() ? "the plan of the config's run" : "",
          [&] { return examine_config(); });
    const std::string& output = config_.output;
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
    if (!progress.empty() && !arguments_.quiet) print_log("checking {}\n", progress);
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
    double seconds = arguments_.doctor.copy_seconds;
    auto copies = copies_between(software_.cuda.devices);
    return check_peers(try_in_children(std::move(copies), {.copy_seconds = seconds}), seconds);
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
    if (!has_config())
      return {{"config", FindingLevel::ok,
               "none given; trainer doctor --config FILE checks its run, too"}};
    PlanReport report = naming_places(resolved_, [&] { return plan(config_); });
    checkpoints_ = checkpoint_need(config_, report.start.parameters, report.start.frozen,
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
    if (planned_ && config_.data.name == "hdf5") return try_hdf5(config_.data.path);
    return try_made_hdf5(config_.output);
  }

  bool has_config() const { return !arguments_.configs.empty(); }

  const Arguments& arguments_;
  const ResolvedConfig& resolved_;
  const RunConfig& config_;
  GpuSoftware software_;
  std::vector<GpuAddress> host_gpus_;
  std::optional<CheckpointNeed> checkpoints_;
  bool planned_ = false;
  Findings findings_;
};

// A line a finding, with its remedy below it, and a line that counts them.
std::string findings_text(const Findings& findings) {
  TextTable table;
  int64_t count[3] = {};
  for (const Finding& finding : findings) {
    ++count[static_cast<size_t>(finding.level)];
    std::string level =
        finding.level == FindingLevel::ok ? "OK" : std::string(to_string(finding.level));
    table.push_back({level, finding.topic, finding.seen});
    if (!finding.remedy.empty()) table.push_back({"", "", "-> " + finding.remedy});
  }
  std::string text;
  for (const std::string& line : aligned(table)) text += line + "\n";
  return text + fmt::format("\n{}: {} OK, {}, {}\n", counted(std::ssize(findings), "finding"),
                            count[0], counted(count[1], "warning"), counted(count[2], "failure"));
}

struct DoctorFacts {
  std::string version, host, time;  // of this program; UTC
};
// docs/doctor.md has the layout.
std::string findings_json(const Findings& findings, const DoctorFacts& facts) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Finding& finding : findings) {
    Json values = Json::object();
    for (const auto& [name, value] : finding.values)
      values[name] = std::isfinite(value) ? Json(value) : Json(nullptr);
    list.push_back({{"topic", finding.topic},
                    {"level", to_string(finding.level)},
                    {"seen", finding.seen},
                    {"remedy", finding.remedy},
                    {"values", values}});
  }
  Json report = {{"format", 1},
                 {"spire", facts.version},
                 {"host", facts.host},
                 {"time", facts.time},
                 {"level", to_string(worst(findings))},
                 {"findings", list}};
  // Names of processes and devices may hold any bytes.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

void add_doctor_options(CLI::App& app, ParsedWords& words) {
  add_key_options(app, words);
  app.add_option("-o,--output", words.output, "folder whose disk to check; the same as output=DIR")
      ->type_name("DIR");
  app.add_flag("-q,--quiet", words.arguments.quiet, "no progress on stderr");
  DoctorArguments& arguments = words.arguments.doctor;
  app.add_flag("--json", arguments.json, "print the findings as JSON (docs/doctor.md)");
  app.add_option("--copy-seconds", arguments.copy_seconds,
                 "a copy between two GPUs that takes longer counts as hung; default: 5")
      ->check(CLI::Range(0.1, 600.0))
      ->type_name("N");
  app.footer(
      "Looks at driver and libraries, GPUs and copies between them, limits of the system, cores,\n"
      "memory, the processor, and the disk of the output folder, onto which it writes 64 MiB for "
      "a\n"
      "moment. With --config also at the plan and the data of that run. Each finding is OK, warn "
      "or\n"
      "fail, with a remedy. Exit code 0: nothing fails; 3: something does.\n\n"
      "  trainer doctor --config run.yaml\n"
      "  trainer doctor --json | jq '.findings[] | select(.level != \"ok\")'\n");
}

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
  if (worst(findings) < FindingLevel::fail) return 0;
  std::vector<std::string> failed;
  for (const Finding& finding : findings)
    if (finding.level == FindingLevel::fail && (failed.empty() || failed.back() != finding.topic))
      failed.push_back(finding.topic);
  fail(Category::device, "not all is well: {}; the report has remedies", quoted_list(failed));
}

void add_doctor_peers_options(CLI::App& app, ParsedWords& words) {
  app.add_option("copies", words.arguments.doctor.copies, "0-1: from cuda:0 to cuda:1")->required();
}

int run_doctor_peers(const Arguments& arguments) {
  return try_named_copies(arguments.doctor.copies);
}

}  // namespace spire
