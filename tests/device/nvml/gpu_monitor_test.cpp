// Tests the reader of NVML against a library in NVML's place, and against machines without one.
#include "engine/device/nvml/gpu_monitor.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/device/gpu_requirements.h"
#include "tests/device/system_files.h"
#include "tests/scripted_nvml/scripted_machine.h"

namespace spire {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t mib = 1 << 20;

// One GPU with a value of its own for each field.
json one_gpu() {
  return json::parse(R"({"driver": "535.1", "gpus": [{
    "name": "NVIDIA Test", "uuid": "GPU-1", "pci": "00000000:3B:00.0", "minor": 4,
    "memory_mib": {"total": 1000, "reserved": 20, "used": 300},
    "compute_percent": 91, "memory_percent": 52, "celsius": 63, "watts": 250.5, "limit_watts": 300,
    "sm_mhz": 1410, "max_sm_mhz": 1980, "memory_mhz": 1593, "max_memory_mhz": 2619,
    "throttle_bits": 68, "ecc_corrected": 7, "ecc_uncorrected": 2,
    "nvlink_sent_kib": 30, "nvlink_received_kib": 40, "joules": 123.456, "mig": false}]})");
}

void expect_memory(const std::optional<GpuMemory>& memory, uint64_t total, uint64_t used,
                   uint64_t free) {
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->total, total * mib);
  EXPECT_EQ(memory->used, used * mib);
  EXPECT_EQ(memory->free, free * mib);
}

TEST(GpuMonitor, ListsWhatIdentifiesAGpu) {
  ScriptedMachine machine(one_gpu());
  GpuMonitor monitor;
  EXPECT_EQ(monitor.why_none(), "");
  EXPECT_EQ(monitor.driver_version(), "535.1");
  ASSERT_EQ(monitor.gpus().size(), 1);
  const HostGpu& gpu = monitor.gpus()[0];
  EXPECT_EQ(gpu.number, 0);
  EXPECT_EQ(gpu.name, "NVIDIA Test");
  EXPECT_EQ(gpu.uuid, "GPU-1");
  EXPECT_EQ(gpu.pci_bus_id, "0000:3b:00.0");
  EXPECT_EQ(gpu.minor_number, 4);
  EXPECT_EQ(gpu.mig, false);
  EXPECT_EQ(gpu.condition, GpuCondition::works);
  EXPECT_EQ(gpu.problem, "");
}

// Only a process to which CUDA finds no driver asks.
TEST(GpuMonitor, ListsGpusThatCudaCannotReachWithoutLibcuda) {
  ScriptedMachine machine(one_gpu());
  EXPECT_THAT(
      libcuda_problem(GpuMonitor()).value_or(""),
      AllOf(HasSubstr("NVIDIA's driver 535.1 lists 1 GPU by NVML, but CUDA finds no libcuda"),
            HasSubstr("NVIDIA_DRIVER_CAPABILITIES=compute,utility")));
  EXPECT_EQ(libcuda_problem(GpuMonitor("/nowhere/libnvidia-ml.so.1")), std::nullopt);
}

void expect_all_but_memory(const GpuState& state) {
  EXPECT_EQ(state.condition, GpuCondition::works);
  EXPECT_EQ(state.problem, "");
  EXPECT_EQ(state.compute_percent, 91);
  EXPECT_EQ(state.memory_percent, 52);
  EXPECT_EQ(state.celsius, 63);
  EXPECT_DOUBLE_EQ(state.watts.value(), 250.5);
  EXPECT_DOUBLE_EQ(state.limit_watts.value(), 300);
  EXPECT_EQ(state.sm_mhz, 1410);
  EXPECT_EQ(state.max_sm_mhz, 1980);
  EXPECT_EQ(state.memory_mhz, 1593);
  EXPECT_EQ(state.max_memory_mhz, 2619);
  EXPECT_THAT(state.throttle_reasons.value(),
              ElementsAre(ThrottleReason::power_cap, ThrottleReason::hardware_heat));
  EXPECT_EQ(state.ecc_corrected, 7);
  EXPECT_EQ(state.ecc_uncorrected, 2);
}

TEST(GpuMonitor, ReadsEachValueOfAState) {
  ScriptedMachine machine(one_gpu());
  GpuMonitor monitor;
  GpuState state = monitor.state(0);
  expect_memory(state.memory, 1000, 300, 680);
  expect_all_but_memory(state);
  EXPECT_EQ(state.nvlink_sent, 30 * 1024);
  EXPECT_EQ(state.nvlink_received, 40 * 1024);
  EXPECT_DOUBLE_EQ(state.joules.value(), 123.456);
  EXPECT_DOUBLE_EQ(monitor.joules(0).value(), 123.456);
  EXPECT_FALSE(state.last_xid);
}

TEST(GpuMonitor, ReadsWhatAnOldDriverOffers) {
  json script = one_gpu();
  script["gpus"][0]["processes"] = {{{"pid", 5000001}, {"mib", 12}}};
  script["gpus"][0]["xids"] = {31};
  ScriptedMachine machine(script, SCRIPTED_OLD_NVML);
  GpuMonitor monitor;
  GpuState state = monitor.state(0);
  expect_memory(state.memory, 1000, 320, 680);  // with what the driver reserves
  expect_all_but_memory(state);
  EXPECT_FALSE(state.nvlink_sent || state.nvlink_received || state.joules);
  EXPECT_EQ(state.last_xid, 31);
  EXPECT_EQ(monitor.processes(0).value().at(0).bytes, 12 * mib);
}

// Each function that a driver does not know leaves its own values empty, and only these.
TEST(GpuMonitor, DoesWithoutAnyFunction) {
  const std::map<std::string, std::function<bool(const GpuState&)>> functions = {
      {"nvmlDeviceGetUtilizationRates", [](const GpuState& s) { return !s.compute_percent; }},
      {"nvmlDeviceGetPowerUsage", [](const GpuState& s) { return !s.watts; }},
      {"nvmlDeviceGetEnforcedPowerLimit", [](const GpuState& s) { return !s.limit_watts; }},
      {"nvmlDeviceGetClockInfo", [](const GpuState& s) { return !s.sm_mhz && !s.memory_mhz; }},
      {"nvmlDeviceGetMaxClockInfo", [](const GpuState& s) { return !s.max_sm_mhz; }},
      {"nvmlDeviceGetTotalEccErrors", [](const GpuState& s) { return !s.ecc_corrected; }},
      {"nvmlDeviceGetFieldValues", [](const GpuState& s) { return !s.nvlink_sent; }},
      {"nvmlDeviceGetTotalEnergyConsumption", [](const GpuState& s) { return !s.joules; }},
  };
  ScriptedMachine machine(one_gpu());
  GpuMonitor monitor;
  for (const auto& [function, is_empty] : functions) {
    machine.gpu(0)["returns"] = {{function, 13}};  // NVML_ERROR_FUNCTION_NOT_FOUND
    machine.write();
    GpuState state = monitor.state(0);
    EXPECT_TRUE(is_empty(state)) << function;
    EXPECT_EQ(state.condition, GpuCondition::works) << state.problem;
    EXPECT_TRUE(state.memory && state.celsius && state.throttle_reasons) << function;
  }
}

TEST(GpuMonitor, LeavesEmptyWhatAGpuDoesNotSupport) {
  ScriptedMachine machine(json::parse(R"({"driver": "535.1", "gpus": [{"name": "NVIDIA Bare"}]})"));
  GpuMonitor monitor;
  const HostGpu& gpu = monitor.gpus().at(0);
  EXPECT_EQ(gpu.condition, GpuCondition::works);
  EXPECT_FALSE(gpu.minor_number || gpu.mig);
  EXPECT_EQ(gpu.uuid + gpu.pci_bus_id, "");
  GpuState state = monitor.state(0);
  EXPECT_EQ(state.condition, GpuCondition::works);
  EXPECT_FALSE(state.memory || state.compute_percent || state.memory_percent || state.celsius);
  EXPECT_FALSE(state.watts || state.limit_watts || state.sm_mhz || state.max_sm_mhz);
  EXPECT_FALSE(state.memory_mhz || state.max_memory_mhz || state.throttle_reasons);
  EXPECT_FALSE(state.ecc_corrected || state.ecc_uncorrected || state.nvlink_sent);
  EXPECT_FALSE(state.nvlink_received || state.joules || state.last_xid);
}

TEST(GpuMonitor, NamesEachReasonOfThrottling) {
  ScriptedMachine machine(one_gpu());
  GpuMonitor monitor;
  std::vector<std::string_view> words;
  for (int bit = 0; bit < 11; ++bit) {
    machine.gpu(0)["throttle_bits"] = 1 << bit;
    machine.write();
    auto reasons = monitor.state(0).throttle_reasons.value();
    ASSERT_EQ(reasons.size(), 1);
    words.push_back(to_string(reasons[0]));
  }
  EXPECT_THAT(words, ElementsAre("idle", "clock setting", "power cap", "hardware slowdown",
                                 "sync boost", "heat", "heat (hardware)", "power brake",
                                 "display clock", "board limit", "reliability"));
  machine.gpu(0)["throttle_bits"] = 0;
  machine.write();
  EXPECT_TRUE(monitor.state(0).throttle_reasons.value().empty());
}

TEST(GpuMonitor, ListsMigDevicesWithTheirMemory) {
  json script = ScriptedMachine::eight_gpus();
  json& slots = script["gpus"][2]["mig"];
  slots = {nullptr, slots[0], slots[1]};
  ScriptedMachine machine(script);
  GpuMonitor monitor;
  const HostGpu& gpu = monitor.gpus().at(2);
  EXPECT_EQ(gpu.mig, true);
  ASSERT_EQ(gpu.mig_devices.size(), 2);
  const MigDevice& second = gpu.mig_devices[1];
  EXPECT_EQ(second.number, 2);  // the first slot is empty
  EXPECT_EQ(second.name, "NVIDIA H100 80GB HBM3 MIG 4g.40gb");
  EXPECT_EQ(second.uuid, "MIG-bbbb0000-0000-4000-8000-00000000000b");
  EXPECT_EQ(second.gpu_instance, 2);
  EXPECT_EQ(second.compute_instance, 0);
  expect_memory(second.memory, 40448, 46, 40402);
  machine.gpu(2)["mig"][1]["memory_mib"]["used"] = 1000;
  machine.write();
  GpuState state = monitor.state(2);
  EXPECT_FALSE(state.compute_percent);
  ASSERT_EQ(state.mig_memory.size(), 2);
  expect_memory(state.mig_memory[0], 40448, 1000, 39448);
  expect_memory(state.mig_memory[1], 40448, 46, 40402);
}

TEST(GpuMonitor, ListsProcessesWithNamesAndOwners) {
  SystemFiles files;
  files.file("proc/71/comm", "python3\n");
  json script = one_gpu();
  script["gpus"][0]["processes"] = {
      {{"pid", 71}, {"mib", 5}, {"gpu_instance", 3}, {"compute_instance", 1}}, {{"pid", 72}}};
  ScriptedMachine machine(script);
  auto processes = GpuMonitor("", files.root()).processes(0).value();
  ASSERT_EQ(processes.size(), 2);
  EXPECT_EQ(processes[0].pid, 71);
  EXPECT_EQ(processes[0].name, "python3");
  EXPECT_EQ(processes[0].user_id, getuid());
  EXPECT_EQ(processes[0].bytes, 5 * mib);
  EXPECT_EQ(processes[0].gpu_instance, 3);
  EXPECT_EQ(processes[0].compute_instance, 1);
  EXPECT_EQ(processes[1].name, "");  // of another pid namespace
  EXPECT_FALSE(processes[1].user_id || processes[1].bytes || processes[1].gpu_instance);
}

TEST(GpuMonitor, ListsAnyNumberOfProcesses) {
  json script = one_gpu();
  for (int i = 0; i < 1000; ++i) script["gpus"][0]["processes"].push_back({{"pid", 5000000 + i}});
  ScriptedMachine machine(script);
  GpuMonitor monitor;
  auto processes = monitor.processes(0).value();
  ASSERT_EQ(processes.size(), 1000);
  EXPECT_EQ(processes[999].pid, 5000999);
  machine.gpu(0).erase("processes");
  machine.write();
  EXPECT_TRUE(monitor.processes(0).value().empty());
  machine.gpu(0)["returns"] = {{"nvmlDeviceGetComputeRunningProcesses_v3", 4}};  // no permission
  machine.write();
  EXPECT_FALSE(monitor.processes(0));
}

TEST(GpuMonitor, FindsAGpuByAnyFormOfItsAddress) {
  ScriptedMachine machine(ScriptedMachine::eight_gpus());
  GpuMonitor monitor;
  ASSERT_EQ(monitor.gpus().size(), 8);
  for (const char* id : {"0000:9a:00.0", "00000000:9A:00.0", "9a:00.0"}) {
    ASSERT_TRUE(monitor.find(id)) << id;
    EXPECT_EQ(monitor.find(id)->number, 4);
  }
  EXPECT_EQ(monitor.find("0000:ff:00.0"), nullptr);
  EXPECT_EQ(monitor.find(""), nullptr);  // not the lost GPU, whose address is unknown
}

TEST(GpuMonitor, ListsALostGpuUnderItsNumber) {
  ScriptedMachine machine(ScriptedMachine::eight_gpus());
  GpuMonitor monitor;
  const HostGpu& gpu = monitor.gpus().at(3);
  EXPECT_EQ(gpu.number, 3);
  EXPECT_EQ(gpu.condition, GpuCondition::lost);
  EXPECT_THAT(gpu.problem, HasSubstr("GPU 3 fell off the bus"));
  EXPECT_EQ(monitor.state(3).condition, GpuCondition::lost);
  EXPECT_FALSE(monitor.processes(3));
  EXPECT_FALSE(monitor.joules(3));
}

TEST(GpuMonitor, TellsThatAGpuIsLostWhileItIsWatched) {
  ScriptedMachine machine(one_gpu());
  GpuMonitor monitor;
  EXPECT_EQ(monitor.state(0).condition, GpuCondition::works);
  machine.gpu(0)["lost"] = true;
  machine.gpu(0)["xids"] = {13, 79};
  machine.write();
  GpuState state = monitor.state(0);
  EXPECT_EQ(state.condition, GpuCondition::lost);
  EXPECT_THAT(state.problem, HasSubstr("restart the machine"));
  EXPECT_FALSE(state.memory || state.celsius || state.joules);
  EXPECT_EQ(state.last_xid, 79);
  EXPECT_EQ(monitor.state(0).last_xid, 79);  // it stays the last
}

TEST(GpuMonitor, ALossAmidAReadingEmptiesAllOfIt) {
  json script = one_gpu();
  script["gpus"][0]["returns"] = {{"nvmlDeviceGetTotalEnergyConsumption", 15}};
  ScriptedMachine machine(script);
  GpuState state = GpuMonitor().state(0);
  EXPECT_EQ(state.condition, GpuCondition::lost);
  EXPECT_FALSE(state.memory || state.celsius);
}

TEST(GpuMonitor, AnEventBelongsToItsGpu) {
  json script = ScriptedMachine::eight_gpus();
  script["gpus"][6]["xids"] = {31, 43};
  ScriptedMachine machine(script);
  GpuMonitor monitor;
  EXPECT_FALSE(monitor.state(5).last_xid);
  EXPECT_EQ(monitor.state(6).last_xid, 43);
  EXPECT_FALSE(monitor.state(7).last_xid);
}

TEST(GpuMonitor, NamesTheFirstValueThatFails) {
  json script = one_gpu();
  script["gpus"][0]["returns"] = {{"nvmlDeviceGetPowerUsage", 999},
                                  {"nvmlDeviceGetTotalEnergyConsumption", 17}};
  ScriptedMachine machine(script);
  GpuState state = GpuMonitor().state(0);
  EXPECT_EQ(state.condition, GpuCondition::failing);
  EXPECT_EQ(state.problem, "GPU 0: nvmlDeviceGetPowerUsage: Unknown Error");
  EXPECT_FALSE(state.watts || state.joules);
  EXPECT_EQ(state.celsius, 63);
}

TEST(GpuMonitor, TellsWhatAGpuNeedsThatCannotBeUsed) {
  json script = one_gpu();
  json& returns = script["gpus"][0]["returns"];
  const std::map<int, std::string> problems = {{16, "nvidia-smi --gpu-reset -i 0"},
                                               {4, "this user or container may not use it"}};
  for (const auto& [error, problem] : problems) {
    returns = {{"nvmlDeviceGetHandleByIndex_v2", error}};
    ScriptedMachine machine(script);
    GpuMonitor monitor;
    EXPECT_EQ(monitor.gpus().at(0).condition, GpuCondition::failing);
    EXPECT_THAT(monitor.gpus()[0].problem, HasSubstr(problem));
    EXPECT_EQ(monitor.state(0).problem, monitor.gpus()[0].problem);
  }
}

TEST(GpuMonitor, AnswersForANumberThatDoesNotExist) {
  ScriptedMachine machine(one_gpu());
  GpuMonitor monitor;
  for (int number : {-1, 1}) {
    EXPECT_EQ(monitor.state(number).condition, GpuCondition::failing);
    EXPECT_FALSE(monitor.joules(number) || monitor.processes(number));
  }
}

TEST(GpuMonitor, ReadsSuccessiveValues) {
  json script = one_gpu();
  script["gpus"][0]["celsius"] = {60, 70, 80};
  ScriptedMachine machine(script);
  GpuMonitor monitor;
  for (int celsius : {60, 70, 80, 80}) EXPECT_EQ(monitor.state(0).celsius, celsius);
}

TEST(GpuMonitor, AnyThreadsMayRead) {
  ScriptedMachine machine(ScriptedMachine::eight_gpus());
  GpuMonitor monitor;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&monitor] {
      for (int i = 0; i < 40; ++i) {
        EXPECT_EQ(monitor.state(1).sm_mhz, 1755);
        EXPECT_EQ(monitor.processes(1).value().size(), 2);
      }
    });
  }
}

TEST(GpuMonitor, SaysWhyThereIsNoLibrary) {
  GpuMonitor monitor("libspire-has-no-such-library.so");
  EXPECT_THAT(monitor.why_none(), HasSubstr("no NVIDIA driver was found"));
  EXPECT_THAT(monitor.why_none(), HasSubstr("libspire-has-no-such-library.so"));
  EXPECT_TRUE(monitor.gpus().empty());
  EXPECT_EQ(monitor.find("0000:3b:00.0"), nullptr);
  EXPECT_EQ(monitor.state(0).condition, GpuCondition::failing);
  EXPECT_FALSE(monitor.joules(0) || monitor.processes(0));
}

TEST(GpuMonitor, SaysWhyALibraryIsNotNvml) {
  EXPECT_THAT(GpuMonitor("libm.so.6").why_none(), HasSubstr("is not NVML"));
}

TEST(GpuMonitor, SaysWhyTheDriverDoesNotStart) {
  const std::map<int, std::string> reasons = {{9, "not loaded"},
                                              {18, "updated while the old one was loaded"},
                                              {4, "may not use"},
                                              {999, "nvmlInit_v2: Unknown Error"}};
  for (const auto& [error, reason] : reasons) {
    ScriptedMachine machine({{"gpus", json::array()}, {"returns", {{"nvmlInit_v2", error}}}});
    EXPECT_THAT(GpuMonitor().why_none(), HasSubstr(reason));
  }
  ScriptedMachine none({{"driver", "535.1"}, {"gpus", json::array()}});
  EXPECT_THAT(GpuMonitor().why_none(), HasSubstr("lists no GPU"));
}

CudaDeviceInfo gpu_at(const std::string& pci_bus_id) {
  CudaDeviceInfo gpu;
  gpu.pci_bus_id = pci_bus_id;
  return gpu;
}

TEST(GpuEnergy, AddsCountersOfDifferentGpus) {
  ScriptedMachine machine(ScriptedMachine::eight_gpus());
  GpuEnergy energy({gpu_at("0000:18:00.0"), gpu_at("0000:DB:00.0"), gpu_at("0000:18:00.0")});
  EXPECT_EQ(energy.count(), 2);
  EXPECT_DOUBLE_EQ(energy.joules().value(), 5000000.25 + 1200000);
  machine.gpu(7)["lost"] = true;
  machine.write();
  EXPECT_FALSE(energy.joules());
}

}  // namespace
}  // namespace spire
