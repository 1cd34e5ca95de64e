#include "engine/device/gpu_claims.h"

#include <fstream>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "tests/base/message_of.h"
#include "tests/base/set_variable.h"
#include "tests/device/system_files.h"

namespace spire {
namespace {

TEST(GpuClaims, AClaimKeepsOthersOffUntilItEnds) {
  SystemFiles files;
  GpuClaims first(files.root()), second(files.root());
  EXPECT_EQ(first.claim("GPU-1"), std::nullopt);
  auto holder = second.claim("GPU-1");
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->pid, ::getpid());
  EXPECT_NE(to_string(*holder).find(std::to_string(::getpid())), std::string::npos);
  EXPECT_EQ(second.claim("GPU-2"), std::nullopt);
  first.release("GPU-1");
  EXPECT_EQ(second.claim("GPU-1"), std::nullopt);
}

// Who cannot see the holder learns what it wrote into its lock.
TEST(GpuClaims, ALockSaysWhoHasIt) {
  SystemFiles files;
  GpuClaims claims(files.root());
  ASSERT_EQ(claims.claim("GPU-1"), std::nullopt);
  std::ifstream file(files.root() / "spire-GPU-1.lock");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  EXPECT_EQ(line.rfind(fmt::format("{}, process {}, since 20", host, ::getpid()), 0), 0u) << line;
  EXPECT_EQ(
      to_string(ClaimHolder{.pid = 0, .name = "", .written = line}),
      "a run in another container or on another host; its lock file was last written by " + line);
  EXPECT_EQ(to_string(ClaimHolder{}), "a run in another container or on another host");
}

// Asks for a GPU as a container does: process 1 of a PID namespace, with that one's /proc. Returns
// what it is told of the holder; empty where the system lets nobody make such a namespace.
std::string told_in_a_container(const std::filesystem::path& folder) {
  int ends[2];
  if (::pipe(ends) != 0) return "";
  pid_t outer = ::fork();
  if (outer == 0) {
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) ::_exit(1);
    pid_t inner = ::fork();
    if (inner == 0) {
      bool own_proc = ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                      ::mount("proc", "/proc", "proc", 0, nullptr) == 0;
      auto holder = GpuClaims(folder).claim("GPU-1");
      std::string text = !own_proc ? "" : holder ? to_string(*holder) : "nobody";
      ::_exit(::write(ends[1], text.data(), text.size()) < 0 ? 1 : 0);
    }
    ::waitpid(inner, nullptr, 0);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text(1000, '\0');
  ssize_t bytes = ::read(ends[0], text.data(), text.size());
  text.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
  ::close(ends[0]);
  ::waitpid(outer, nullptr, 0);
  return text;
}

TEST(GpuClaims, AHolderInAnotherPidNamespaceIsNamedByItsLock) {
  SystemFiles files;
  GpuClaims claims(files.root());
  ASSERT_EQ(claims.claim("GPU-1"), std::nullopt);
  std::string told = told_in_a_container(files.root());
  if (told.empty()) GTEST_SKIP() << "no PID namespace can be made here";
  std::string beginning = "a run in another container or on another host; its lock file was last ";
  EXPECT_EQ(told.rfind(beginning, 0), 0u) << told;
  EXPECT_NE(told.find(fmt::format(", process {}, since ", ::getpid())), told.npos) << told;
}

TEST(GpuClaims, ClaimingTwiceKeepsTheClaim) {
  SystemFiles files;
  GpuClaims claims(files.root());
  EXPECT_EQ(claims.claim("GPU-1"), std::nullopt);
  EXPECT_EQ(claims.claim("GPU-1"), std::nullopt);
  claims.release();
  EXPECT_FALSE(claims.has("GPU-1"));
}

TEST(GpuClaims, AClaimEndsWithItsProcess) {
  SystemFiles files;
  pid_t child = ::fork();
  if (child == 0) {
    GpuClaims claims(files.root());
    ::_exit(claims.claim("GPU-1") ? 1 : 0);  // without release()
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  GpuClaims claims(files.root());
  EXPECT_EQ(claims.claim("GPU-1"), std::nullopt);
}

TEST(GpuClaims, AFileThatMayOnlyBeReadSuffices) {
  SystemFiles files;
  { GpuClaims(files.root()).claim("MIG-GPU-1/0/0"); }
  ASSERT_EQ(::chmod((files.root() / "spire-MIG-GPU-1_0_0.lock").c_str(), 0444), 0);
  GpuClaims claims(files.root());
  EXPECT_EQ(claims.claim("MIG-GPU-1/0/0"), std::nullopt);
}

TEST(GpuClaims, AProcessHasTheClaimsOfTheOneThatStartedIt) {
  SystemFiles files;
  GpuClaims sweep(files.root()), run(files.root());
  ASSERT_EQ(sweep.claim("GPU-1"), std::nullopt);
  EXPECT_TRUE(run.claim("GPU-1"));
  {
    SetVariable holder(claim_holder, std::to_string(::getpid()));
    EXPECT_FALSE(run.claim("GPU-1"));
  }
  SetVariable holder(claim_holder, "1");
  EXPECT_TRUE(run.claim("GPU-1"));
}

TEST(GpuClaims, AFolderThatIsNotThereIsNamed) {
  GpuClaims claims("/nonexistent");
  EXPECT_EQ(message_of(Category::device, [&] { claims.claim("GPU-1"); }),
            "cannot open /nonexistent/spire-GPU-1.lock, by which runs keep apart on a GPU: No "
            "such file or directory; make the folder writable");
}

}  // namespace
}  // namespace spire
