#include "engine/run/machine/environment.h"

#include "tests/device/system_files.h"
#include "tests/run/machine/findings.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(GpuVariables, AreThoseThatSteerNcclAndCuda) {
  const char* const environment[] = {"PATH=/bin",
                                     "NCCL_SOCKET_IFNAME=eth0",
                                     "MY_NCCL_DEBUG=INFO",
                                     "CUDA_VISIBLE_DEVICES=",
                                     "NVIDIA_TF32_OVERRIDE=0",
                                     "NCCL_BROKEN",
                                     "CUDA_HOME=/usr/local/cuda",
                                     "NCCL_DEBUG=INFO=1",
                                     nullptr};
  EXPECT_THAT(gpu_variables(environment),
              ElementsAre(Pair("CUDA_VISIBLE_DEVICES", ""), Pair("NCCL_DEBUG", "INFO=1"),
                          Pair("NCCL_SOCKET_IFNAME", "eth0"), Pair("NVIDIA_TF32_OVERRIDE", "0")));
  const char* const none[] = {"PATH=/bin", nullptr};
  EXPECT_THAT(gpu_variables(none), IsEmpty());
}

TEST(NcclFiles, AreThoseThatExist) {
  SystemFiles system;
  auto files = [&](const Variables& variables, const std::string& home) {
    return nccl_files(variables, home, system.root());
  };
  EXPECT_THAT(files({}, "/home/a"), IsEmpty());
  system.file("etc/nccl.conf", "").file("home/a/.nccl.conf", "").file("srv/nccl", "");
  EXPECT_THAT(files({}, "/home/a"), ElementsAre("/etc/nccl.conf", "/home/a/.nccl.conf"));
  EXPECT_THAT(files({}, ""), ElementsAre("/etc/nccl.conf"));
  EXPECT_THAT(files({{"NCCL_CONF_FILE", "/srv/nccl"}}, "/home/a"),
              ElementsAre("/etc/nccl.conf", "/srv/nccl"));
}

TEST(EnvironmentText, IsOnePrintableLine) {
  EXPECT_EQ(environment_text({}, {}), "");
  EXPECT_EQ(environment_text({{"NCCL_DEBUG", "IN\nFO\x1b"}, {"NCCL_ALGO", "Ring"}}, {}),
            "NCCL_DEBUG=IN\\x0aFO\\x1b, NCCL_ALGO=Ring");
  EXPECT_EQ(environment_text({{"NCCL_DEBUG", "INFO"}}, {"/etc/nccl.conf"}),
            "NCCL_DEBUG=INFO; NCCL also reads /etc/nccl.conf");
  EXPECT_EQ(environment_text({}, {"/etc/nccl.conf"}), "NCCL also reads /etc/nccl.conf");
}

TEST(EnvironmentCheck, WarnsOfSettingsThatSlowRunsDown) {
  EXPECT_THAT(check_environment({}, {}), ElementsAre(good("environment", "no variable")));
  EXPECT_THAT(check_environment({{"CUDA_LAUNCH_BLOCKING", "1"}, {"NCCL_P2P_DISABLE", "0"}}, {}),
              ElementsAre(good("environment", "CUDA_LAUNCH_BLOCKING=1, NCCL_P2P_DISABLE=0"),
                          warns("environment",
                                "the host waits for each kernel; unset "
                                "CUDA_LAUNCH_BLOCKING")));
}

}  // namespace
}  // namespace spire
