// trainer doctor as a process. What each check finds is tested in tests/doctor.
#include <set>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/scripted_nvml/scripted_machine.h"
#include "tests/tools/program.h"

namespace spire {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;

std::set<std::string> topics_of(const json& report) {
  std::set<std::string> topics;
  for (const json& finding : report["findings"]) topics.insert(finding["topic"].get<std::string>());
  return topics;
}

json finding_of(const json& report, const std::string& topic) {
  for (const json& finding : report["findings"])
    if (finding["topic"] == topic) return finding;
  return {};
}

// FindingLevel and exit code agree, whatever machine this is.
TEST(Doctor, PrintsJsonWithEveryTopic) {
  WorkFolder folder;
  Output output = trainer({"doctor", "--json", "--quiet", "-o", folder / "runs/new"});
  json report = json::parse(output.out);
  EXPECT_EQ(output.code, report["level"] == "fail" ? 3 : 0) << output.err;
  EXPECT_EQ(report["format"], 1);
  for (const char* key : {"spire", "host", "time"}) EXPECT_NE(report[key], "");
  EXPECT_THAT(
      topics_of(report),
      IsSupersetOf(
          {"driver",          "cuda",       "cudnn",      "cublas",       "nccl",     "nvrtc",
           "architectures",   "gpu_health", "gpu_clocks", "gpu_use",      "mig",      "peer_copies",
           "environment",     "shm",        "memlock",    "open_files",   "affinity", "cgroup_cpu",
           "omp_num_threads", "load",       "numa",       "memory",       "swap",     "huge_pages",
           "instructions",    "precision",  "governor",   "clock_source", "config",   "disk_space",
           "disk_speed",      "hdf5"}));
  for (const json& finding : report["findings"]) {
    EXPECT_THAT((std::set<std::string>{"ok", "warn", "fail"}), Contains(finding["level"]));
    EXPECT_NE(finding["seen"], "");
    EXPECT_EQ(finding["remedy"] == "", finding["level"] == "ok") << finding;
    EXPECT_TRUE(finding["values"].is_object());
  }
  EXPECT_GT(finding_of(report, "disk_speed")["values"]["written_bytes_per_s"], 0);
  EXPECT_FALSE(std::filesystem::exists(folder / "runs"));
}

TEST(Doctor, EndsWithThreeWhereAGpuIsLost) {
  ScriptedMachine machine(ScriptedMachine::eight_gpus());
  WorkFolder folder;
  Output output = trainer({"doctor", "-o", folder / "runs"});
  EXPECT_EQ(output.code, 3);
  expect_parts(output.out, {"fail  gpu_health", "-> GPU 3 fell off the bus"});
  EXPECT_THAT(output.err, HasSubstr("checking the state of all GPUs\n"));
  // Where the machine has no driver of its own, 'driver' stands before it.
  expect_parts(output.last_error_line(), {"error[3]: not all is well: ", "'gpu_health'"});
}

// As in a container that was started without the driver's part for computing.
TEST(Doctor, NamesTheLibraryThatADriverLacks) {
  if (dlopen("libcuda.so.1", RTLD_LAZY)) GTEST_SKIP() << "this machine has libcuda.so.1";
  ScriptedMachine machine(
      {{"driver", "550.54.15"},
       {"gpus", {{{"name", "NVIDIA L4"}, {"uuid", "GPU-1"}, {"pci", "00000000:3B:00.0"}}}}});
  WorkFolder folder;
  Output output = trainer({"doctor", "--json", "--quiet", "-o", folder / "runs"});
  json report = json::parse(output.out), driver = finding_of(report, "driver");
  if (finding_of(report, "cuda").dump().find("no CUDA support") != std::string::npos)
    GTEST_SKIP() << "this build has no CUDA";
  EXPECT_EQ(output.code, 3);
  EXPECT_EQ(driver["level"], "fail");
  const std::string says =
      "NVIDIA's driver 550.54.15 lists 1 GPU by NVML, but CUDA finds no "
      "libcuda.so.1 of it: install the driver's CUDA library";
  EXPECT_THAT(driver["remedy"], HasSubstr(says));
  EXPECT_THAT(trainer({"devices"}).out, HasSubstr("cuda    none: " + says));
  expect_error(3, trainer({"data.name=synthetic", "devices=cuda", "--dry-run", "1"}), says);
}

TEST(Doctor, LooksAtTheRunOfAConfig) {
  WorkFolder folder;
  std::string config = folder.write("run.yaml",
                                    "model: {name: mlp, hidden: [8]}\n"
                                    "data: {name: synthetic, synthetic: {shape: [4, 4, 1]}}\n"
                                    "devices: cpu\n"
                                    "output: " +
                                        folder / "run" + "\n");
  json report = json::parse(trainer({"doctor", "--json", "-q", "-c", config}).out);
  EXPECT_EQ(finding_of(report, "config")["level"], "ok");
  EXPECT_THAT(finding_of(report, "config")["seen"], HasSubstr("mlp on synthetic, fp32"));
  EXPECT_GT(finding_of(report, "disk_space")["values"]["checkpoint_bytes"], 0);
  Output broken = trainer(
      {"doctor", "--json", "-q", "-c", config, "data.name=idx", "data.path=" + folder / "nowhere"});
  EXPECT_EQ(broken.code, 3);
  EXPECT_EQ(finding_of(json::parse(broken.out), "config")["level"], "fail");
  EXPECT_EQ(trainer({"doctor", "-c", config, "batch_size=none"}).code, 2);
}

}  // namespace
}  // namespace spire
