#include "engine/device/gpu_claims.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <spire/error.h>

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
  ::setenv(claim_holder, std::to_string(::getpid()).c_str(), 1);
  EXPECT_FALSE(run.claim("GPU-1"));
  ::setenv(claim_holder, "1", 1);
  EXPECT_TRUE(run.claim("GPU-1"));
  ::unsetenv(claim_holder);
}

TEST(GpuClaims, AFolderThatIsNotThereIsNamed) {
  GpuClaims claims("/nonexistent");
  try {
    claims.claim("GPU-1");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::device);
    EXPECT_STREQ(error.what(),
                 "cannot open /nonexistent/spire-GPU-1.lock, by which runs keep apart on a GPU: No "
                 "such file or directory; make the folder writable");
  }
}

}  // namespace
}  // namespace spire
