// The state of GPUs, and the software that runs on them need.
#include "tests/device/system_files.h"
#include "tests/run/machine/findings.h"
#include "tests/scripted_nvml/scripted_machine.h"
#include "tools/doctor/checks.h"

namespace spire {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::IsSupersetOf;
using testing::SizeIs;

CudaDeviceInfo gpu(int index, int major, int minor) {
  return {.index = index,
          .name = "H100",
          .uuid = "GPU-1",
          .pci_bus_id = "0000:3b:00.0",
          .compute_major = major,
          .compute_minor = minor};
}

// A machine where all is well.
GpuSoftware good_machine() {
  CudaVersions versions{.toolkit = {13, 0, 0},
                        .driver_cuda = {13, 0, 0},
                        .driver = "580.65.06",
                        .cudnn = {{9, 19, 0}, {9, 19, 0}},
                        .cublas = {{13, 0, 0}, {13, 0, 0}},
                        .nccl = {{2, 28, 3}, {2, 28, 3}},
                        .cudnn_cuda = {13, 0, 0},
                        .nvrtc = {13, 0, 0},
                        .architectures = "80-real 90"};
  return {.cuda = {.built = true, .why_none = "", .devices = {gpu(0, 9, 0)}},
          .versions = versions,
          .on_bus = {"0000:3b:00.0"}};
}

TEST(GpuSoftwareCheck, IsGoodWhereVersionsFit) {
  Findings findings = check_gpu_software(good_machine());
  EXPECT_THAT(
      findings,
      ElementsAre(good("driver", "driver 580.65.06, supports CUDA 13.0"),
                  good("cuda", "cuda:0 (H100"), good("cudnn", "cuDNN 9.19.0"),
                  good("cublas", "13.0.0"), good("nccl", "NCCL 2.28.3, compiled with 2.28.3"),
                  good("nvrtc", "13.0"), good("architectures", "8.0, 9.0 and later")));
}

TEST(GpuSoftwareCheck, NamesTheLibraryThatIsMissingOldOrOfAnotherCuda) {
  GpuSoftware machine = good_machine();
  machine.versions->driver_cuda = {12, 4, 0};
  EXPECT_THAT(check_gpu_software(machine), Contains(fails("driver", "install driver 580")));
  machine = good_machine();
  machine.versions->cudnn.found = machine.versions->cublas.found = {};
  machine.versions->cudnn.why_not = machine.versions->cublas.why_not = "no lib.so in /here";
  machine.versions->nccl.found = {2, 10, 0};
  machine.versions->nvrtc = {};
  Findings findings = check_gpu_software(machine);
  EXPECT_THAT(findings, Contains(fails("cudnn", "nvidia-cudnn-cu13")));
  EXPECT_THAT(findings, Contains(fails("cublas", "LD_LIBRARY_PATH")));
  EXPECT_THAT(findings, Contains(fails("nccl", "NCCL 2.10.0 is too old")));
  EXPECT_THAT(findings, Contains(warns("nvrtc", "pip: nvidia-cuda-nvrtc")));
  machine = good_machine();
  machine.versions->nccl.found = {2, 20, 0};
  machine.versions->cudnn_cuda = {12, 9, 0};
  findings = check_gpu_software(machine);
  EXPECT_THAT(findings, Contains(warns("nccl", "2.20.0 is older than 2.28.3")));
  EXPECT_THAT(findings, Contains(fails("cudnn", "built for CUDA 12")));
}

TEST(GpuSoftwareCheck, ComparesCodeWithEachGpu) {
  GpuSoftware machine = good_machine();
  machine.cuda.devices = {gpu(0, 7, 5), gpu(1, 9, 0), gpu(2, 12, 0)};
  Findings findings = check_gpu_software(machine);
  EXPECT_THAT(findings, Contains(fails("architectures", "SPIRE_CUDA_ARCHITECTURES=75")));
  EXPECT_THAT(findings, Contains(warns("architectures", "cuda:2 (H100, 12.0)")));
  EXPECT_THAT(findings, SizeIs(8));
}

TEST(GpuSoftwareCheck, WithoutGpuNothingFails) {
  GpuSoftware machine = good_machine();
  machine.cuda = {.built = true, .why_none = "no NVIDIA driver was found", .devices = {}};
  machine.versions->driver_cuda = {};
  machine.versions->driver = "";
  machine.versions->nvrtc = {};
  machine.versions->cudnn.found = machine.versions->nccl.found = {};
  machine.on_bus.clear();
  EXPECT_THAT(check_gpu_software(machine), Each(Field(&Finding::level, FindingLevel::ok)));
  EXPECT_THAT(check_gpu_software(machine), Contains(good("cudnn", "as there is no GPU")));
  machine.on_bus = {"0000:3b:00.0"};
  EXPECT_THAT(check_gpu_software(machine),
              Contains(warns("driver", "no NVIDIA driver, but a GPU at PCI 0000:3b:00.0")));
  machine.libcuda_problem = "NVIDIA's driver lists 1 GPU, but ...";
  EXPECT_THAT(check_gpu_software(machine), Contains(fails("driver", "lists 1 GPU")));
  machine.versions.reset();
  EXPECT_THAT(check_gpu_software(machine), Contains(warns("cuda", "-DSPIRE_CUDA=ON")));
}

TEST(GpuSoftwareCheck, FindsGpusOnTheBus) {
  SystemFiles system;
  const std::string bus = "sys/bus/pci/devices/";
  system.file(bus + "0000:3b:00.0/vendor", "0x10de\n")
      .file(bus + "0000:3b:00.0/class", "0x030200\n");
  system.file(bus + "0000:3b:00.1/vendor", "0x10de\n")
      .file(bus + "0000:3b:00.1/class", "0x040300\n");
  system.file(bus + "0000:00:02.0/vendor", "0x8086\n")
      .file(bus + "0000:00:02.0/class", "0x030000\n");
  EXPECT_THAT(gpus_on_bus(system.root()), ElementsAre("0000:3b:00.0"));
  EXPECT_THAT(gpus_on_bus(system.root() / "nowhere"), ElementsAre());
}

Findings findings_of(const nlohmann::json& script) {
  ScriptedMachine machine(script);
  return check_gpus(read_gpus(GpuMonitor()));
}

TEST(GpuHealthCheck, NamesEveryTroubleOfTheScriptedMachine) {
  EXPECT_THAT(
      findings_of(ScriptedMachine::eight_gpus()),
      ElementsAre(
          fails("gpu_health", "GPU 3 is lost; GPU 3 fell off the bus"),
          warns("gpu_clocks",
                "GPU 5 (NVIDIA A100-SXM4-80GB) is throttled at 1095 of 1410 MHz, "
                "89 °C: hardware slowdown, heat, heat (hardware)"),
          warns("gpu_use",
                "GPU 1 (NVIDIA H100 80GB HBM3) is used by 2 processes with 68.8 GiB: "
                "5000001, 5000002"),
          warns("gpu_use", "GPU 5 (NVIDIA A100-SXM4-80GB) is used by 1 process with 62.4 GiB"),
          warns("mig", "GPU 2 (NVIDIA H100 80GB HBM3) is split by MIG into 2 devices")));
}

TEST(GpuHealthCheck, TellsErrorsOfMemoryAndOfTheDriver) {
  auto script = ScriptedMachine::eight_gpus();
  script["gpus"] = nlohmann::json::array({script["gpus"][0]});
  auto& gpu = script["gpus"][0];
  EXPECT_THAT(findings_of(script),
              ElementsAre(good("gpu_health", "1 GPU: none has failed"), good("gpu_clocks", "1 GPU"),
                          good("gpu_use", "no other process"), good("mig", "none is split")));
  gpu["ecc_corrected"] = 12;  // which does no harm
  EXPECT_THAT(findings_of(script), Contains(good("gpu_health", "none has failed")));
  gpu["ecc_uncorrected"] = 2;
  EXPECT_THAT(findings_of(script), Contains(fails("gpu_health",
                                                  "2 errors that memory could not "
                                                  "correct; end its processes")));
  gpu["ecc_uncorrected"] = 0;
  gpu["xids"] = {31};
  EXPECT_THAT(findings_of(script), Contains(warns("gpu_health", "reported error XID 31")));
  gpu["returns"] = {{"nvmlDeviceGetMemoryInfo_v2", 999}};
  EXPECT_THAT(findings_of(script), Contains(fails("gpu_health", "is failing")));
}

TEST(GpuHealthCheck, TellsWhatSlowsClocks) {
  auto script = ScriptedMachine::eight_gpus();
  script["gpus"] = nlohmann::json::array({script["gpus"][0]});
  auto& bits = script["gpus"][0]["throttle_bits"];
  bits = 0x1 | 0x4 | 0x10 | 0x100;  // idle, power cap, sync boost, display clock
  EXPECT_THAT(findings_of(script), Contains(good("gpu_clocks", "none is throttled")));
  bits = 0x2;
  EXPECT_THAT(findings_of(script),
              Contains(warns("gpu_clocks", "clock setting; somebody has set")));
  bits = 0x80;
  EXPECT_THAT(findings_of(script), Contains(warns("gpu_clocks", "power brake; check its power")));
}

TEST(GpuHealthCheck, IsGoodWithoutGpus) {
  auto script = ScriptedMachine::eight_gpus();
  script["returns"] = {{"nvmlInit_v2", 9}};
  Findings findings = findings_of(script);
  EXPECT_EQ(worst(findings), FindingLevel::ok);
  EXPECT_EQ(findings.size(), 4u);
}

}  // namespace
}  // namespace spire
